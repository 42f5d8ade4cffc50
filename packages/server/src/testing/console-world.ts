/** Something of every kind that the console's pages show, for its tests and its pictures. */
import { createSvc, type Svc } from "@svc/sdk"
import type { FirstRun } from "../core/first-run.ts"

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

/** A client of the first person, signed in. */
const personOf = async (url: string, { email, password, project_id }: FirstRun): Promise<Svc> => {
  const { headers } = await createSvc({ baseUrl: url }).request("account.login", { email, password })
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? ""
  return createSvc({ baseUrl: url, project: project_id, headers: { cookie, origin: url } })
}

/** Keys of all sorts, and one that asks before it deletes the backups. */
const fillKeys = async (url: string, first: FirstRun): Promise<void> => {
  const person = await personOf(url, first)
  const project_id = first.project_id
  const make = (name: string, fields: object) =>
    person.keys.create({ name, type: "secret", project_id, ...fields })
  await make("reports", { scopes: ["database:read", "storage:read"], read_only: true })
  await make("ci", { type: "service_account", scopes: ["functions:deploy", "build:write", "registry:push"] })
  const agent = await make("agent", {
    scopes: ["database:query", "database:manage", "storage:write", "storage:read"],
    require_approval: true,
  })
  await createSvc({ apiKey: agent.secret ?? "", baseUrl: url })
    .storage.deleteBucket({ name: "backups" })
    .catch(waits => {
      if ((waits as { code?: string }).code !== "approval_required") throw waits
    })
}

const WELCOME = `<html><head><style>h1 { color: #2452c9; font-family: sans-serif } .go { background: #2452c9; color: #fff; padding: 10px 16px; border-radius: 6px; text-decoration: none }</style></head>
<body style="font-family: sans-serif; padding: 24px"><h1>Welcome to the lighthouse, Ada</h1><p>One click, and the lamp is yours.</p>
<p><a class="go" href="https://lamps.example/confirm?token=a1b2c3">Confirm your address</a></p><img src="https://tracker.example/pixel.gif" alt="">
<script>document.body.textContent = "a script ran"</script><img src="x" onerror="document.body.textContent = 'a handler ran'"></body></html>`

const fillMail = async (svc: Svc): Promise<void> => {
  const text = "Confirm your address: https://lamps.example/confirm?token=a1b2c3"
  await svc.email.sendRaw({ to: "grace@example.com", subject: "Your invoice of November", text: "12.80 EUR" })
  await svc.email.sendRaw({ to: "ada@example.com", subject: "Welcome aboard", html: WELCOME, text })
}

export const fillConsole = async (url: string, first: FirstRun): Promise<Svc> => {
  const svc = createSvc({ apiKey: first.api_key, baseUrl: url })
  await fillStorage(svc)
  for (const sql of ORDERS.split(";\n")) await svc.sql.execute({ sql })
  await fillKeys(url, first)
  await fillMail(svc)
  return svc
}
