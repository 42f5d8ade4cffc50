/**
 * The dependency rule of ARCHITECTURE.md: contract ← kernel ← ports ← core ← services ← areas ← platform, and
 * contract ← sdk ← cli and console.
 * Every import is matched against the row of its file's place; what the row does not allow is an error.
 */
import { globSync, readFileSync } from "node:fs"
import { glob } from "node:fs/promises"
import { dirname, join, normalize } from "node:path"

interface Place {
  readonly name: string
  readonly files: RegExp
  /** Project files it may import, beside those of its own place. */
  readonly may: readonly RegExp[]
  /** Packages it may import; Node's own modules are free everywhere but where `browser` says no. */
  readonly packages: readonly RegExp[]
  readonly browser?: true
}

const any = /./
const contract = /^@svc\/contract$/
const s = (path: string) => new RegExp(`^packages/server/src/${path}`)

/** First match wins. */
const places: readonly Place[] = [
  {
    name: "test",
    files: /\.test\.ts$|\/(?:testing|endurance)\/|\/conformance[/.]/,
    may: [any],
    packages: [any],
  },
  { name: "tools", files: /^tools\//, may: [any], packages: [any] },
  { name: "contract", files: /^packages\/contract\//, may: [], packages: [/^typebox$/], browser: true },
  { name: "sdk", files: /^packages\/sdk\//, may: [], packages: [contract], browser: true },
  {
    name: "console",
    files: /^packages\/console\//,
    may: [],
    packages: [/^@svc\/sdk$/, /^react(-dom)?$/, /^@codemirror\//, /^@lezer\/highlight$/],
    browser: true,
  },
  { name: "cli", files: /^packages\/cli\//, may: [], packages: [contract, /^@svc\/sdk$/, /^fflate$/] },
  { name: "text-to-sql", files: /^packages\/text-to-sql\//, may: [], packages: [/^pg$/] },
  {
    name: "platform",
    files: s(
      "(platform|areas|services|modules|engines|start|main|migration-sources|doctor|run|settings|config)\\.ts$",
    ),
    may: [s("")],
    packages: [any],
  },
  { name: "kernel", files: s("kernel/"), may: [], packages: [any] },
  {
    name: "driver list",
    files: s("ports/[^/]+/index\\.ts$"),
    may: [s("ports/"), s("kernel/clock\\.ts$")],
    packages: [],
  },
  {
    // What a port's driver needs and is set by; its driver is loaded with the list.
    name: "port module",
    files: s("ports/[^/]+/(module|settings|inbound)\\.ts$"),
    may: [
      s("ports/"),
      s(
        "kernel/(service|setting|setting-parsers|startup-error|token|tokens|outbound/(outbound|addresses))\\.ts$",
      ),
    ],
    packages: [],
  },
  {
    name: "driver",
    files: s("ports/[^/]+/drivers/"),
    // The local engine of tenant databases runs the same programs as the control database.
    may: [
      s("ports/"),
      s("kernel/(aead|fault|call|clock|every|direct-body|exact-json|startup-error|concurrency/.*)\\.ts$"),
      s("kernel/db/embedded/"),
    ],
    packages: [any],
  },
  {
    // One client of the Kubernetes API for the drivers of several ports.
    name: "kubernetes",
    files: s("ports/kubernetes/"),
    may: [s("ports/(port-error|http-server)\\.ts$")],
    packages: [/^ws$/, /^yaml$/],
  },
  {
    name: "port",
    files: s("ports/"),
    // One list says what is not the public Internet.
    may: [s("kernel/(fault|call|clock|concurrency/.*|exact-json|token|outbound/addresses)\\.ts$")],
    packages: [],
  },
  {
    name: "core",
    files: s("core/"),
    may: [s("kernel/"), s("ports/([^/]+/port|port-error)\\.ts$")],
    packages: [contract, /^kysely$/, /^lru-cache$/, /^@node-rs\/argon2$/, /^uqr$/],
  },
  {
    // What several areas share: modules without routes, and the client of tenants' databases.
    name: "service",
    files: s("services/[^/]+/"),
    may: [s("kernel/"), s("core/"), s("services/"), s("ports/([^/]+/port|port-error)\\.ts$")],
    packages: [contract, /^kysely$/, /^lru-cache$/, /^pg$/, /^@peculiar\/x509$/, /^tar$/],
  },
  {
    // What an area may be asked for by others: types and tokens alone, so that asking loads nothing.
    name: "offers",
    files: s("areas/[^/]+/offers\\.ts$"),
    may: [
      s("kernel/(token|call|tcp-listener|db/database)\\.ts$"),
      s("core/"),
      s("services/postgres/"),
      s("ports/[^/]+/port\\.ts$"),
    ],
    packages: [contract, /^pg$/],
  },
  {
    name: "area",
    files: s("areas/[^/]+/"),
    may: [
      s("kernel/"),
      s("core/"),
      s("services/"),
      s("areas/[^/]+/offers\\.ts$"),
      // Hashes are pure: what storage verifies is counted the way that the drivers count it.
      s("ports/([^/]+/port|port-error|mail/inbound|blob/hashes)\\.ts$"),
    ],
    packages: [any],
  },
]

/** Our own packages that one place alone may import. */
const OWNED: Readonly<Record<string, RegExp>> = { "@svc/text-to-sql": s("areas/advice/") }

/** Areas are one place by their rule, but each is its own folder: another's internals are out of reach. */
const homeOf = (place: Place, file: string): string =>
  place.name === "area" ? file.split("/").slice(0, 5).join("/") : place.name

const IMPORT =
  /(?:^|\n)\s*(?:import|export)[^"'\n]*?(?:\{[^}]*\}[^"'\n]*?)?from\s+["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g

const placeOf = (file: string): Place | undefined => places.find(({ files }) => files.test(file))

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

const judge = (file: string, specifier: string): string | undefined => {
  const place = placeOf(file)
  if (!place) return `${file} has no place in tools/check-imports.ts`
  if (specifier.startsWith("node:"))
    return place.browser ? `${file}: ${place.name} runs in browsers; ${specifier} does not` : undefined
  if (!specifier.startsWith(".")) {
    const name = packageOf(specifier)
    const owner = OWNED[name]
    if (owner && place.name !== "test" && !owner.test(file)) return `${file} may not import ${name}`
    return place.packages.some(allowed => allowed.test(name))
      ? undefined
      : `${file}: ${place.name} may not import ${name}`
  }
  const target = normalize(join(dirname(file), specifier))
  const targetPlace = placeOf(target)
  const same = targetPlace?.name === place.name && homeOf(place, file) === homeOf(place, target)
  return same || place.may.some(allowed => allowed.test(target))
    ? undefined
    : `${file}: ${place.name} may not import ${target}`
}

const importsOf = (file: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(IMPORT)].map(match => match[1] ?? match[2] ?? "")

/** Tables that an area has in another's schema, because they are older than the area; moving them would move data. */
const MOVED: Readonly<Record<string, string>> = { "databases.query_log": "sql" }

/** Statements that touch another schema than the file's own area; core ids are free to read. */
const foreignSchemas = (file: string): string[] => {
  const area = /^packages\/server\/src\/areas\/([^/]+)\//.exec(file)?.[1]
  if (area === undefined || /\.(test|gen)\.ts$/.test(file)) return []
  const own = area.replaceAll("-", "_")
  const names = readFileSync(file, "utf8").matchAll(/["'`\s]((?:[a-z_]+)\.(?:[a-z_]+))["'`\s(]/g)
  return [...names]
    .map(match => match[1] ?? "")
    .filter(
      name => tables.has(name) && (MOVED[name] ?? name.split(".")[0]) !== own && !name.startsWith("core."),
    )
    .map(name => `${file}: touches ${name}, which is another area's table`)
}

/** The tables of all schemas; what only looks like one (`events.head` of a list) is none. */
const tables: ReadonlySet<string> = new Set(
  globSync("packages/server/src/**/tables.gen.ts").flatMap(file =>
    [...readFileSync(file, "utf8").matchAll(/^ +"([a-z_.]+)": \{/gm)].map(([, name = ""]) => name),
  ),
)

/** A cycle is one even when only types go round: the parts cannot be understood one after the other. */
const cycles = (graph: ReadonlyMap<string, readonly string[]>): string[] => {
  const done = new Set<string>()
  const found: string[] = []
  const walk = (file: string, path: readonly string[]) => {
    if (path.includes(file))
      return void found.push(`cycle: ${[...path.slice(path.indexOf(file)), file].join(" → ")}`)
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) walk(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) walk(file, [])
  return found
}

const COMMENTS_AND_TEXTS = /\/\*[\s\S]*?\*\/|\/\/.*|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"/g

/**
 * The root does not know what the platform is made of: an area is a line in `areas.ts`. Names of ports are free, though some
 * are words of areas too; so are members and keys, for what they belong to is known by then.
 */
const areasNamedAtTheRoot = (): string[] => {
  const areas = globSync("packages/server/src/areas/*/module.ts").map(
    file => file.split("/").at(-2)?.replaceAll("-", "") ?? "",
  )
  const named = new RegExp(`(?<![.\\w])(${areas.join("|")})(?![a-z]|\\s*:)\\w*`, "g")
  return globSync("packages/server/src/*.ts")
    .filter(file => !/\/areas\.ts$|\.test\.ts$/.test(file))
    .flatMap(file => {
      const text = readFileSync(file, "utf8").replaceAll(/^export .* from "\.\/ports\/.*$/gm, "")
      const words = text.replaceAll(COMMENTS_AND_TEXTS, "").match(named) ?? []
      const imported = importsOf(file).filter(specifier => specifier.startsWith("./areas/"))
      return [...words, ...imported].map(
        word =>
          `${file}: names an area (${word}); let the area's module.ts declare what it needs, offers, listens to or adds to the edge`,
      )
    })
}

/** Everything that breaks the rule, a line each. */
export const checkImports = async (): Promise<string[]> => {
  const files = await Array.fromAsync(glob(["packages/*/src/**/*.{ts,tsx}", "tools/**/*.ts"]))
  const graph = new Map(
    files.map(file => [
      file,
      importsOf(file)
        .filter(specifier => specifier.startsWith("."))
        .map(specifier => normalize(join(dirname(file), specifier))),
    ]),
  )
  return [
    ...files.flatMap(file => importsOf(file).flatMap(specifier => judge(file, specifier) ?? [])),
    ...files.flatMap(foreignSchemas),
    ...areasNamedAtTheRoot(),
    ...cycles(graph),
  ]
}
