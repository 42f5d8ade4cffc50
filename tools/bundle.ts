/**
 * `npm run bundle`, which `npm start` runs where it is needed: the server, and the packages that every start loads, in
 * few files that load in half the time. `packages/server/bin/bundle.js` runs them if no source has changed since.
 */
import {
  access,
  constants,
  glob,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises"
import { dirname, join, relative, resolve } from "node:path"
import { build, type Metafile, type Plugin } from "esbuild"
import { bundleFolder, isConsoleFresh, isFresh, stampFile } from "../packages/server/bin/bundle.js"

/** Packages that every start loads. All others stay outside and are loaded at their first use, native ones among them. */
const INSIDE = [
  ...["@svc/contract", "ajv", "ajv-formats", "croner", "fastify", "find-my-way", "ipaddr.js", "kysely"],
  ...["lru-cache", "pg", "pino", "typebox", "ws", "yaml"],
  // Ours, and bundled like the server's own sources.
  "@svc/text-to-sql",
]

/** What the launcher starts. Workers are found by how the sources name them. */
const PROGRAMS = ["main.ts", "doctor.ts"]

/** How a source names a worker, another program of ours, or itself. */
const PLACES =
  /new URL\("([^"]+\.ts)", import\.meta\.url\)|import\.meta\.resolve\("(\.[^"]+\.ts)"\)|import\.meta\.url/g

const isPackage = (path: string): boolean => /^[^./]/.test(path) && !path.startsWith("node:")

const isInside = (path: string): boolean => INSIDE.some(name => path === name || path.startsWith(`${name}/`))

/** All files of the bundle are in one folder, so the name of a program contains its path. */
const bundledName = (source: string): string => source.replace(/\.ts$/, "").replaceAll("/", ".")

/** Workers and other programs that the sources start by their URL. */
const findPrograms = async (sources: string): Promise<string[]> => {
  const found = new Set(PROGRAMS)
  for await (const file of glob("**/*.ts", { cwd: sources })) {
    if (/\.test\.ts$|(^|\/)(testing|conformance)\//.test(file)) continue
    for (const [, url, path] of (await readFile(join(sources, file), "utf8")).matchAll(PLACES)) {
      const program = url ?? path
      if (program !== undefined) found.add(join(dirname(file), program))
    }
  }
  return [...found]
}

/** Bundled code finds the files that lie beside its source, and the bundle's programs instead of the sources'. */
const rewritePlaces = (text: string, source: string): string => {
  const other = /import\.meta\.(?:dirname|filename|main)\b/.exec(text)
  if (other) throw new Error(`${source} uses ${other[0]}, which means something else in a bundle`)
  return text.replace(PLACES, (_match, url?: string, path?: string) => {
    const program = url ?? path
    if (program === undefined) return `new URL(${JSON.stringify(`../src/${source}`)}, import.meta.url).href`
    const bundled = JSON.stringify(`./${bundledName(join(dirname(source), program))}.js`)
    return `new URL(${bundled}, import.meta.url)${path === undefined ? "" : ".href"}`
  })
}

/** An import of `node:http` loads Node's whole fetch for the names that it exports: 40 ms and 3 MB. `require` does not. */
const BY_REQUIRE = "by-require"

const rules = (sources: string): Plugin => ({
  name: "svc",
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const source = relative(sources, path)
      if (source.startsWith("..")) return undefined
      return { contents: rewritePlaces(await readFile(path, "utf8"), source), loader: "ts" }
    })
    onResolve({ filter: /^node:http$/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: BY_REQUIRE } : undefined,
    )
    onLoad({ filter: /./, namespace: BY_REQUIRE }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
    onResolve({ filter: /^[^./]/ }, ({ path, importer }) => {
      const isOurs = !importer.includes("/node_modules/")
      return isOurs && isPackage(path) && !isInside(path) ? { path, external: true } : undefined
    })
  },
})

/** Makes the stamp: a source that is newer, or of another size, is not what was bundled. */
const stampOf = async ({ inputs }: Metafile, root: string, builtAt: number): Promise<string> => {
  const own = Object.keys(inputs).filter(path => !path.includes("node_modules/"))
  // npm writes the last one whenever it changes a package.
  const files = [...own, "tools/bundle.ts", "node_modules/.package-lock.json"]
  const sizes = await Promise.all(
    files.map(async file => [file, (await stat(join(root, file)).catch(() => undefined))?.size] as const),
  )
  return JSON.stringify({
    builtAt,
    files: Object.fromEntries(sizes.filter(([, size]) => size !== undefined)),
  })
}

/** Identifiers keep their names, for whoever reads a stack; what that costs cannot be measured. */
const bundle = async (root: string) => {
  const sources = join(root, "packages/server/src")
  const programs = await findPrograms(sources)
  return build({
    absWorkingDir: root,
    entryPoints: programs.map(source => ({ in: join(sources, source), out: bundledName(source) })),
    outdir: bundleFolder(root),
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    // Node 24 has `using`. esbuild would rewrite it, and in a loop a failed round would then fail all that follow.
    supported: { using: true },
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: "linked",
    sourcesContent: false,
    logLevel: "silent",
    external: ["pg-native"],
    plugins: [rules(sources)],
    // CommonJS packages ask for Node's own modules by `require`.
    banner: {
      js: 'import{createRequire as $createRequire}from"node:module";const require=$createRequire(import.meta.url);',
    },
  })
}

/** A server that runs may still load what an earlier build named, so that stays for a day. */
const KEPT_MS = 24 * 3_600_000

const removeOld = async (folder: string, kept: ReadonlySet<string>): Promise<void> => {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (!kept.has(path) && Date.now() - (await stat(path)).mtimeMs > KEPT_MS) await rm(path, { force: true })
  }
}

/** Makes the bundle of the repository in `root`, unless it is fresh. After a failure there is none that would be run. */
export const makeBundle = async (root: string): Promise<void> => {
  if (isFresh(root)) return
  // First, because it fails at once where nothing can be written.
  await mkdir(bundleFolder(root), { recursive: true })
  await access(bundleFolder(root), constants.W_OK)
  await rm(stampFile(root), { force: true })
  const builtAt = Date.now()
  const { metafile, outputFiles } = await bundle(root)
  const write = async (path: string, contents: Uint8Array | string) => {
    const part = `${path}.${process.pid}`
    await writeFile(part, contents)
    await rename(part, path)
  }
  await Promise.all(outputFiles.map(({ path, contents }) => write(path, contents)))
  await write(stampFile(root), await stampOf(metafile, root, builtAt))
  await removeOld(bundleFolder(root), new Set([...outputFiles.map(({ path }) => path), stampFile(root)]))
}

/** Pages of the console come from the contract, which the server's bundle contains: a new one of it makes the console anew. */
const bundleConsole = async (root: string, contractChanged: boolean): Promise<void> => {
  if (!contractChanged && isConsoleFresh(root)) return
  // Loads the contract, so only where there is something to do.
  const { makeConsole } = await import("./console.ts")
  await makeConsole(root, contractChanged)
}

/** Says what went wrong and goes on: the sources run too, only more slowly, and the API needs no console. */
export const tryBundle = async (root: string): Promise<void> => {
  const wasFresh = isFresh(root)
  try {
    await makeBundle(root)
  } catch (error) {
    process.stderr.write(`The server could not be bundled and will run from its sources: ${String(error)}\n`)
  }
  try {
    await bundleConsole(root, !wasFresh)
  } catch (error) {
    process.stderr.write(`The console could not be made; the API works without it: ${String(error)}\n`)
  }
}

if (import.meta.main) await tryBundle(resolve(import.meta.dirname, ".."))
