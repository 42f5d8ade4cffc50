-- Requests of keys by area and status, counted by day and added to in batches together with core.usage.
CREATE TABLE core.key_requests (
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  day date NOT NULL,
  area text NOT NULL,
  status smallint NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (organization_id, key_id, day, area, status)
);
CREATE INDEX key_requests_day ON core.key_requests (organization_id, day);
