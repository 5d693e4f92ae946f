"""The bundled example programs."""
