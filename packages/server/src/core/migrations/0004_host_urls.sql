-- Where other processes of the platform reach this one; null where they do not.
ALTER TABLE core.hosts ADD COLUMN url text;
