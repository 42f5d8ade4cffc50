/** `npm run new-area NAME`: a working area with one resource, its table and its test, to be changed into the real one. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

const name = process.argv[2] ?? ""
if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
  process.stderr.write(
    "usage: npm run new-area NAME   (lower-case words joined by hyphens, for example: notes)\n",
  )
  process.exit(2)
}

const camel = name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
const pascal = camel.charAt(0).toUpperCase() + camel.slice(1)
const schema = name.replaceAll("-", "_")

const contract = `import { area, T } from "./dsl.ts"
import { Id, Name, Page, PageQuery, Time } from "./types.ts"

const ${pascal}Item = T.Object({ id: Id, name: T.String(), created_at: Time })

export const ${camel} = area(
  "${camel}",
  { title: "${pascal}", summary: "What this area is for, in a sentence", project: "required", belongs: "project" },
  {
    list: {
      id: "list${pascal}",
      http: "GET /v1/${name}",
      summary: "List the items",
      scope: "kv:read",
      effect: "read",
      extension: true,
      query: PageQuery,
      replies: { 200: Page(${pascal}Item) },
    },
    create: {
      id: "create${pascal}",
      http: "POST /v1/${name}",
      summary: "Create an item",
      scope: "kv:write",
      effect: "write",
      extension: true,
      body: T.Object({ name: Name }),
      replies: { 201: ${pascal}Item },
      faults: ["name_taken"],
      example: { name: "first" },
    },
  },
)
`

const migration = `CREATE TABLE ${schema}.items (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES core.projects,
  name text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX items_name ON ${schema}.items (project_id, lower(name));
`

const store = `import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type ItemRow = Tables["${schema}.items"]

/** Rows of ${schema}.items. Every statement names the project first, so no query can cross tenants. */
export const itemStore = (db: Db) => ({
  insert: (row: ItemRow): Promise<unknown> => db.insertInto("${schema}.items").values(row).execute(),

  async list(projectId: string, { limit, offset }: { limit: number; offset: number }) {
    const items = db.selectFrom("${schema}.items").where("project_id", "=", projectId)
    const { total } = await items.select(eb => eb.fn.countAll<number>().as("total")).executeTakeFirstOrThrow()
    const rows = await items.selectAll().orderBy("id", "desc").limit(limit).offset(offset).execute()
    return { rows, total }
  },
})
`

const handlers = `import { areas, page, pageOf } from "@svc/contract"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import { type ItemRow, itemStore } from "./store.ts"

const toItem = ({ id, name, created_at }: ItemRow) => ({ id, name, created_at: created_at.toISOString() })

export const ${camel}Handlers = implement(areas.${camel}, () => ({
  async list(input, { db, owner }) {
    const { rows, total } = await itemStore(db).list(owner, pageOf(input))
    return page({ rows: rows.map(toItem), total }, input)
  },

  async create({ name }, { db, owner, now, describe }) {
    const row = { id: newId(now.getTime()), project_id: owner, name, created_at: now }
    try {
      await itemStore(db).insert(row)
    } catch (error) {
      if (isUniqueViolation(error, "items_name")) throw fault("name_taken", { resource: "item", name })
      throw error
    }
    describe({ targets: [{ type: "${name}", id: row.id, name }] })
    return toItem(row)
  },
}))
`

const module = `import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"

export const ${camel} = defineModule({
  name: "${name}",
  title: "${pascal}",
  contract: [areas.${camel}],
  needs,
  migrations: { schema: "${schema}", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  load: () => import("./area.ts"),
})
`

const needs = `import type { AreaGiven } from "../../kernel/area.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = {}
export type Needs = AreaGiven<typeof needs>
`

const area = `import { ${camel}Handlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = (_services: Needs) => ({ operations: ${camel}Handlers({}) })
`

const test = `import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"

test("an item is seen by its own project and by no other", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "kv:read", "kv:write")
  const globex = await p.client("globex", "kv:read")

  const created = await acme.${camel}.create({ name: "first" })

  assert.deepEqual((await acme.${camel}.list({})).data, [created])
  assert.equal((await globex.${camel}.list({})).total, 0)
})

test("a name is taken once in a project", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "kv:read", "kv:write")
  await acme.${camel}.create({ name: "first" })

  await assert.rejects(acme.${camel}.create({ name: "First" }), { code: "name_taken", status: 409 })
})
`

const samples = `/** Valid inputs of the operations of ${name}, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample } from "../../../testing/sample-world.ts"

export const samples = {
  "${camel}.create": async () => ({ name: uniqueName() }),
} satisfies Readonly<Record<string, Sample>>
`

const home = `packages/server/src/areas/${name}`
const files: Readonly<Record<string, string>> = {
  [`packages/contract/src/${name}.ts`]: contract,
  [`${home}/migrations/0001_${schema}.sql`]: migration,
  [`${home}/store.ts`]: store,
  [`${home}/handlers.ts`]: handlers,
  [`${home}/module.ts`]: module,
  [`${home}/needs.ts`]: needs,
  [`${home}/area.ts`]: area,
  [`${home}/testing/samples.ts`]: samples,
  [`${home}/${name}.test.ts`]: test,
}

const taken = Object.keys(files).find(file => existsSync(file))
if (taken !== undefined) {
  process.stderr.write(`${taken} exists already\n`)
  process.exit(1)
}
for (const [file, text] of Object.entries(files)) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** The two lists that name every area: of the contract, and of the server. */
const insert = (file: string, edits: readonly (readonly [find: RegExp, replacement: string])[]) => {
  const text = edits.reduce(
    (before, [find, replacement]) => {
      if (!find.test(before)) throw new Error(`${file} has no ${find}: correct tools/new-area.ts`)
      return before.replace(find, replacement)
    },
    readFileSync(file, "utf8"),
  )
  writeFileSync(file, text)
}
insert("packages/contract/src/areas.ts", [
  [/(import \{ area|import \{ account)/, `import { ${camel} } from "./${name}.ts"\n$1`],
  [/(\n\} as const\n)/, `\n  ${camel},$1`],
])
insert("packages/server/src/areas.ts", [
  [/(export \{ kv \})/, `export { ${camel} } from "./areas/${name}/module.ts"\n$1`],
])

process.stdout.write(`${Object.keys(files).join("\n")}

Next: npm run gen && npx biome check --write . && npm test ${home}/${name}.test.ts
Then make it yours: the scopes and paths in packages/contract/src/${name}.ts come first.
`)
