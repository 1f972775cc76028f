"""Small things that every stage may use: files, columns, progress, templates."""
