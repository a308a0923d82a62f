"""The hub's functions and triggers in SQL, applied anew after every migration."""
