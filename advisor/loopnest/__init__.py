"""Types and dependences of loop nests."""
