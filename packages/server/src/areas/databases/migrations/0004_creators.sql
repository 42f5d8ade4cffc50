-- A volume in the state `creating` belongs to the process that makes it, which renews the lease until it is done. So do the
-- database and the branch that the volume is made for.
ALTER TABLE databases.volumes ADD COLUMN creator_id uuid, ADD COLUMN lease_until timestamptz;
