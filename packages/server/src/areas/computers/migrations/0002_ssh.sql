-- Who logs in by ssh names a computer and not whose it is.
CREATE INDEX computers_by_name ON computers.computers (name);
