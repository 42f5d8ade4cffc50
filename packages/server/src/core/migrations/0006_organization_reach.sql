-- A key that is bound to a project and may change what belongs to the whole organization all the same, as the first one of an
-- installation does.
ALTER TABLE core.api_keys ADD organization_reach boolean NOT NULL DEFAULT false;
