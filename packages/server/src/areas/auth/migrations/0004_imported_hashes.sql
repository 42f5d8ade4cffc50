-- A hash that another system made is kept sealed until its user signs in. Logins of a project that has some take as long
-- for everybody, so they look for one.
CREATE INDEX users_imported ON auth.users (project_id, id) WHERE password_hash LIKE 'svc:box%';
