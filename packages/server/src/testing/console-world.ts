/** Something of every kind that the console's pages show, for its tests and its pictures. */
import type { Svc } from "@svc/sdk"

const ORDERS = `
CREATE TABLE customers (
  id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text NOT NULL, email text UNIQUE, joined date NOT NULL);
CREATE TABLE orders (
  id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, customer_id int NOT NULL REFERENCES customers,
  product text NOT NULL, amount numeric(10, 2) NOT NULL, notes jsonb, placed_at timestamptz NOT NULL);
INSERT INTO customers (name, email, joined)
  SELECT (ARRAY['Ada','Grace','Edsger','Barbara','Alan','Radia'])[n % 6 + 1] || ' ' || n, 'person' || n || '@example.com', date '2025-01-01' + n
  FROM generate_series(1, 40) AS n;
INSERT INTO orders (customer_id, product, amount, notes, placed_at)
  SELECT n % 40 + 1, (ARRAY['Desk lamp','Notebook','Fountain pen','Backpack','Tea kettle'])[n % 5 + 1], (n * 37 % 9000) / 100.0,
    CASE WHEN n % 3 = 0 THEN jsonb_build_object('gift', true, 'wrapping', 'blue') END, now() - n * interval '3 hours'
  FROM generate_series(1, 200) AS n`

const LIGHTHOUSE = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 200"><rect width="320" height="200" fill="#9cc4e4"/><circle cx="258" cy="46" r="20" fill="#ffe9a8"/><path d="M0 150q80-34 160-6t160-10v66H0z" fill="#3e7c94"/><path d="M128 160l12-104h30l12 104z" fill="#f5f1ea"/><path d="M135 104l3-22h34l3 22z" fill="#c8423b"/><rect x="138" y="42" width="34" height="14" fill="#34414c"/><path d="M134 42l21-16 21 16z" fill="#c8423b"/><path d="M80 164q75-30 150 0v36H80z" fill="#4d5b45"/></svg>`

const FILES: Readonly<Record<string, readonly [string, string]>> = {
  "lighthouse.svg": ["image/svg+xml", LIGHTHOUSE],
  "notes/2026-11.md": ["text/markdown", "# November\n\nThe lamp was cleaned."],
  "notes/2026-10.md": ["text/markdown", "# October\n\nFog on nine days."],
  "readings.csv": ["text/csv", "day,hours\n1,9\n2,11\n3,8\n"],
  "<img src=x onerror=alert(1)>.txt": ["text/plain", "<script>alert(1)</script>"],
}

const fillStorage = async (svc: Svc): Promise<void> => {
  await svc.storage.createBucket({ name: "backups" })
  await svc.storage.createBucket({ name: "pictures" })
  await svc.storage.updateBucket({ name: "pictures", versioning: "enabled" })
  for (const [key, [type, text]] of Object.entries(FILES))
    await svc.storage.putObject(
      { bucket: "pictures", key },
      { body: new Blob([text]), headers: { "content-type": type } },
    )
}

export const fillConsole = async (svc: Svc): Promise<void> => {
  await fillStorage(svc)
  for (const sql of ORDERS.split(";\n")) await svc.sql.execute({ sql })
}
