-- A service with accounts: people belong to accounts through a junction; a ticket has a requester and an assignee; money in cents.
CREATE TABLE accounts (id int PRIMARY KEY, company_name text NOT NULL, industry text NOT NULL, region text NOT NULL, created_at timestamptz NOT NULL, parent_account_id int REFERENCES accounts);
CREATE TABLE users (id int PRIMARY KEY, display_name text NOT NULL, email text NOT NULL, last_login_at timestamptz, is_admin boolean NOT NULL);
CREATE TABLE memberships (account_id int NOT NULL REFERENCES accounts, user_id int NOT NULL REFERENCES users, role text NOT NULL, joined_at timestamptz NOT NULL, PRIMARY KEY (account_id, user_id));
CREATE TABLE plans (id int PRIMARY KEY, code text NOT NULL, monthly_fee_cents int NOT NULL, seat_limit int);
CREATE TABLE subscriptions (id int PRIMARY KEY, account_id int NOT NULL REFERENCES accounts, plan_id int NOT NULL REFERENCES plans, state text NOT NULL, seats int NOT NULL,
  started_at timestamptz NOT NULL, cancelled_at timestamptz);
CREATE TABLE invoices (id int PRIMARY KEY, subscription_id int NOT NULL REFERENCES subscriptions, number text NOT NULL, amount_cents int NOT NULL, issued_on date NOT NULL, due_on date NOT NULL, paid_on date);
CREATE TABLE tickets (id int PRIMARY KEY, account_id int NOT NULL REFERENCES accounts, requester_id int NOT NULL REFERENCES users, assignee_id int REFERENCES users, subject text NOT NULL,
  priority text NOT NULL, opened_at timestamptz NOT NULL, closed_at timestamptz);
CREATE TABLE usage_events (id int PRIMARY KEY, account_id int NOT NULL REFERENCES accounts, metric text NOT NULL, quantity int NOT NULL, occurred_at timestamptz NOT NULL);
INSERT INTO accounts SELECT i, (ARRAY['Acorn Ltd','Birch Labs','Cedar Works','Dogwood Inc','Elm Media','Fir Foods','Ginkgo Health','Hazel Bank'])[i], (ARRAY['retail','software','energy','software','media','retail','health','finance'])[i],
  (ARRAY['EMEA','AMER','EMEA','APAC','AMER','EMEA','APAC','AMER'])[i], timestamptz '2021-10-01 00:00Z' + i * interval '113 days', CASE WHEN i IN (4, 6) THEN 2 WHEN i = 7 THEN 1 END FROM generate_series(1, 8) i;
INSERT INTO users SELECT i, (ARRAY['Abel','Bea','Cleo','Dov','Edda','Fritz','Gwen','Hiro','Isa','Jude','Kofi','Lena','Milo'])[i], lower((ARRAY['Abel','Bea','Cleo','Dov','Edda','Fritz','Gwen','Hiro','Isa','Jude','Kofi','Lena','Milo'])[i]) || '@corp.example',
  CASE WHEN i % 5 <> 0 THEN timestamptz '2024-01-05 12:00Z' + i * interval '12 days' END, i % 6 = 1 FROM generate_series(1, 13) i;
INSERT INTO memberships SELECT 1 + (i * 3) % 8, 1 + (i * 5) % 12, (ARRAY['owner','editor','viewer'])[1 + i % 3], timestamptz '2022-06-01 00:00Z' + i * interval '20 days' FROM generate_series(1, 24) i ON CONFLICT DO NOTHING;
INSERT INTO plans VALUES (1, 'free', 0, 3), (2, 'starter', 2900, 10), (3, 'growth', 9900, 50), (4, 'scale', 49900, NULL), (5, 'legacy', 1500, 5);
INSERT INTO subscriptions SELECT i, 1 + (i * 3) % 7, 1 + (i * i) % 4, (ARRAY['active','trialing','cancelled','past due','active'])[1 + i % 5], 2 + (i * 5) % 31, timestamptz '2022-04-01 00:00Z' + i * interval '52 days',
  CASE WHEN i % 5 = 2 THEN timestamptz '2023-12-01 00:00Z' + i * interval '11 days' END FROM generate_series(1, 15) i;
INSERT INTO invoices SELECT i, 1 + (i * 4) % 14, 'INV-' || 1000 + i, 1500 + (i * 4177) % 60000, date '2023-02-01' + i * 11, date '2023-03-03' + i * 11, CASE WHEN i % 4 <> 0 THEN date '2023-02-20' + i * 12 END FROM generate_series(1, 45) i;
INSERT INTO tickets SELECT i, 1 + (i * 5) % 8, 1 + (i * 7) % 12, CASE WHEN i % 4 <> 0 THEN (ARRAY[1,7,13])[1 + i % 3] END, 'Case ' || i, (ARRAY['low','normal','urgent','normal','high'])[1 + i % 5],
  timestamptz '2023-09-01 09:00Z' + i * interval '7 days 5 hours', CASE WHEN i % 3 <> 0 THEN timestamptz '2023-09-03 09:00Z' + i * interval '7 days 9 hours' END FROM generate_series(1, 38) i;
INSERT INTO usage_events SELECT i, 1 + (i * i) % 8, (ARRAY['api_calls','storage_gb','emails'])[1 + i % 3], (i * 71) % 500, timestamptz '2024-02-01 00:00Z' + i * interval '1 day 7 hours' FROM generate_series(1, 90) i;
