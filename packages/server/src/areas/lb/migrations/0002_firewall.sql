-- Whether the firewall judges the requests, and whether it refuses or only records.
ALTER TABLE lb.load_balancers
  ADD COLUMN waf_enabled boolean NOT NULL DEFAULT false,
  ADD COLUMN waf_mode text NOT NULL DEFAULT 'block';
