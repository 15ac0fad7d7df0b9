"""Several codes on several graphs: each measurement in a fresh process, all codes in turns."""
