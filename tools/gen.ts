/** `npm run gen`: files that follow from the code and that people read. `--check` compares instead of writing. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import pg from "pg"
import { operationsOf } from "../packages/cli/src/commands.ts"
import { operationHelp } from "../packages/cli/src/help.ts"
import { allAreas, scopes } from "../packages/contract/src/index.ts"
import { settingGroups } from "../packages/server/src/config.ts"
import type { Setting } from "../packages/server/src/kernel/setting.ts"
import { migrationSources } from "../packages/server/src/migration-sources.ts"
import { databaseUrl, startTestServer } from "../packages/server/src/testing/database.ts"
import { renderAuthority } from "./gen-authority.ts"
import { renderErrorPages } from "./gen-errors.ts"
import { renderRoutes } from "./gen-routes.ts"
import { renderSpecification } from "./gen-specification.ts"
import { renderTables } from "./gen-tables.ts"

const DOCS = "docs/generated"

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map(cells => `| ${cells.join(" | ")} |`).join("\n")

/** A setting that several modules share stands with the first of them. */
const configuration = (): string => {
  const listed = new Set<Setting<unknown>>()
  const sections = settingGroups().map(({ of, settings }) => {
    const own = Object.values(settings).filter(setting => !listed.has(setting))
    for (const setting of own) listed.add(setting)
    const rows = own.map(({ variable, default: byDefault, description, secret }) => [
      `\`${variable}\``,
      byDefault,
      secret ? `${description} Secret.` : description,
    ])
    return rows.length === 0 ? "" : `## ${of}\n\n${table(["variable", "default", "description"], rows)}\n`
  })
  const head =
    "# Settings\n\nEnvironment variables, read once at the start, by the part of the platform that has them.\n"
  return [head, ...sections.filter(section => section !== "")].join("\n")
}

const scopeList = (): string =>
  `# Scopes\n\n${table(
    ["scope", "grants"],
    Object.entries(scopes).map(([name, { description, platform }]) => [
      `\`${name}\``,
      platform ? `${description} (platform scope)` : description,
    ]),
  )}\n`

/** The API's table of contents: a change of the interface shows as a change of this file. */
const contents = (): string =>
  `${allAreas
    .map(
      area =>
        `${area.title}\n${Object.values(area.operations)
          .map(
            ({ method, path, name, scope }) =>
              `  ${method.padEnd(6)} ${path}  ${name}  [${[scope].flat().join(", ")}]`,
          )
          .join("\n")}`,
    )
    .join("\n\n")}\n`

const commands = (): string =>
  `# svc\n\n${allAreas
    .map(area => {
      const operations = operationsOf(area).map(operation => `\`\`\`\n${operationHelp(operation)}\n\`\`\``)
      return `## ${area.title}\n\n${area.summary}\n\n${operations.join("\n\n")}`
    })
    .join("\n\n")}\n`

const tables = async (): Promise<ReadonlyMap<string, string>> => {
  await using server = await startTestServer()
  const client = new pg.Client({ connectionString: databaseUrl(server.url, "svc_template") })
  await client.connect()
  try {
    return await renderTables(client, migrationSources())
  } finally {
    await client.end()
  }
}

const render = async (): Promise<Map<string, string>> =>
  new Map([
    ...(await tables()),
    ["packages/sdk/src/routes.gen.ts", renderRoutes()],
    [`${DOCS}/configuration.md`, configuration()],
    [`${DOCS}/scopes.md`, scopeList()],
    [`${DOCS}/authority.md`, renderAuthority()],
    [`${DOCS}/api.txt`, contents()],
    [`${DOCS}/specification.md`, renderSpecification()],
    [`${DOCS}/cli.md`, commands()],
    ...[...renderErrorPages()].map(([name, text]) => [join("docs/errors", name), text] as const),
  ])

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** Pages of faults that the table no longer has. */
const stale = (files: ReadonlyMap<string, string>): string[] =>
  readdirSync("docs/errors")
    .map(name => join("docs/errors", name))
    .filter(file => !files.has(file))

const files = await render()
if (process.argv.includes("--check")) {
  const old = [...files].filter(([file, text]) => read(file) !== text).map(([file]) => file)
  for (const file of [...old, ...stale(files)]) process.stderr.write(`${file} is out of date: npm run gen\n`)
  process.exitCode = old.length + stale(files).length > 0 ? 1 : 0
} else {
  for (const [file, text] of files) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  for (const file of stale(files)) rmSync(file)
}
