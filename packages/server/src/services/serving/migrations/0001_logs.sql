-- What programs print, by line: the newest of each service, for a week.
CREATE TABLE serving.logs (
  id bigserial PRIMARY KEY,
  organization_id uuid NOT NULL,
  service_id uuid NOT NULL,
  instance_id uuid NOT NULL,
  at timestamptz NOT NULL,
  stream text NOT NULL CHECK (stream IN ('stdout', 'stderr', 'platform')),
  message text NOT NULL
);
CREATE INDEX logs_service ON serving.logs (service_id, id);
CREATE INDEX logs_at ON serving.logs (at);
