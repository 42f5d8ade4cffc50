-- Processes of the platform that run workloads; the disks of their workloads are in their data folders.
CREATE TABLE core.hosts (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  driver text NOT NULL,
  isolation text NOT NULL,
  memory_bytes bigint NOT NULL,
  memory_reserved_bytes bigint NOT NULL,
  workloads_max integer NOT NULL,
  workloads integer NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  -- Others took it for gone, and it has not been heard of since.
  lost_at timestamptz
);
