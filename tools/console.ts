/**
 * The web console as the server sends it: scripts, style and the contract's operations as files whose names carry a hash,
 * each compressed beside itself, and `manifest.json`, which the server reads at the first request.
 */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { glob, mkdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { build } from "esbuild"
import { consoleFolder, isConsoleFresh, stampOfConsole } from "../packages/server/bin/bundle.js"
import { renderAreas } from "./console-index.ts"

/** What the console is made of, beside the contract: whoever makes the server's bundle makes this one too. */
const SOURCES = ["packages/console/src/**/*", "packages/console/package.json", "tools/console*.ts"]

/** 11 takes two seconds and saves a tenth. */
const BROTLI_QUALITY = 5

interface Asset {
  readonly name: string
  readonly contents: Uint8Array
}

const named = (stem: string, extension: string, contents: string): Asset => {
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase()
  return { name: `${stem}-${hash}.${extension}`, contents: Buffer.from(contents) }
}

/** The index of operations, and a file for each area, whose name the index tells. */
const renderOperations = (): { readonly index: Asset; readonly assets: readonly Asset[] } => {
  const { areas, operations, details } = renderAreas()
  const files = details.map(({ area, file }) => named(area, "json", JSON.stringify(file)))
  const rows = areas.map((area, at) => ({ ...area, file: files[at]?.name ?? "" }))
  const index = named("operations", "json", JSON.stringify({ areas: rows, operations }))
  return { index, assets: [index, ...files] }
}

const bundleScripts = async (root: string) => {
  const sources = join(root, "packages/console/src")
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { app: join(sources, "main.tsx"), theme: join(sources, "shell/theme.ts") },
    outdir: consoleFolder(root),
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    supported: { "top-level-await": true },
    jsx: "automatic",
    minify: true,
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "silent",
  })
  const assets = outputFiles.map(({ path, contents }) => ({
    name: path.slice(path.lastIndexOf("/") + 1),
    contents,
  }))
  const entry = (source: string) => {
    const found = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith(source))
    if (!found) throw new Error(`esbuild made nothing of ${source}`)
    const [path, { cssBundle }] = found
    return {
      script: path.slice(path.lastIndexOf("/") + 1),
      style: cssBundle?.slice(cssBundle.lastIndexOf("/") + 1),
    }
  }
  const app = entry("src/main.tsx")
  return { assets, script: app.script, style: app.style ?? "", theme: entry("shell/theme.ts").script }
}

const compress = ({ contents }: Asset) => ({
  br: brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gz: gzipSync(contents, { level: 9 }),
})

const write = async (path: string, contents: Uint8Array | string): Promise<void> => {
  const part = `${path}.${process.pid}`
  await writeFile(part, contents)
  await rename(part, path)
}

const KEPT_MS = 24 * 3_600_000

/** An open tab may still ask for what an earlier build named, so that stays for a day. */
const removeOld = async (folder: string, kept: ReadonlySet<string>): Promise<void> => {
  for await (const path of glob(`${folder}/*`)) {
    const name = path.slice(folder.length + 1).replace(/\.(br|gz)$/, "")
    if (!kept.has(name) && Date.now() - (await stat(path)).mtimeMs > KEPT_MS) await rm(path, { force: true })
  }
}

const stamp = async (root: string, builtAt: number): Promise<string> => {
  const files: Record<string, number> = {}
  for await (const file of glob(SOURCES, { cwd: root })) {
    // Folders too: their time changes when a file comes or goes.
    files[file] = (await stat(join(root, file))).size
  }
  return JSON.stringify({ builtAt, files })
}

/**
 * Makes the console of the repository in `root`, unless it is fresh. `contractChanged`: its pages come from the contract,
 * whose files the server's stamp names.
 */
export const makeConsole = async (root: string, contractChanged: boolean): Promise<void> => {
  if (!existsSync(join(root, "packages/console/src"))) return
  if (!contractChanged && isConsoleFresh(root)) return
  const folder = consoleFolder(root)
  await mkdir(folder, { recursive: true })
  await rm(stampOfConsole(root), { force: true })
  const builtAt = Date.now()
  const [scripts, operations] = [await bundleScripts(root), renderOperations()]
  const assets = [...scripts.assets, ...operations.assets]
  for (const asset of assets) {
    const { br, gz } = compress(asset)
    await write(join(folder, asset.name), asset.contents)
    await write(join(folder, `${asset.name}.br`), br)
    await write(join(folder, `${asset.name}.gz`), gz)
  }
  const { script, style, theme } = scripts
  const names = assets.map(({ name }) => name)
  const manifest = { script, style, theme, operations: operations.index.name, names }
  await write(join(folder, "manifest.json"), JSON.stringify(manifest))
  await write(stampOfConsole(root), await stamp(root, builtAt))
  await removeOld(folder, new Set([...names, "manifest.json", "stamp.json"]))
}
