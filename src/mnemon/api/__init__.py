"""The HTTP door: translates a request, calls one room function, translates the result back. It holds no rule."""
