-- A template belongs to a project, or to the organization, whose templates all its projects send from.
ALTER TABLE email.templates ADD COLUMN project_id uuid;
DROP INDEX email.templates_name;
CREATE UNIQUE INDEX templates_name ON email.templates (organization_id, project_id, name) NULLS NOT DISTINCT;
