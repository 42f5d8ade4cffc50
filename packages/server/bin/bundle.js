/**
 * Runs a program of the server from its bundle, or from the sources if there is no bundle made of them as they are. In
 * JavaScript, because Node needs 20 ms before it can read the first line of TypeScript.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

export const bundleFolder = root => join(root, "packages/server/dist")

/** Names each source in the bundle with its size; written last, so that there is none beside half a bundle. */
export const stampFile = root => join(bundleFolder(root), "stamp.json")

/** What the server sends under `/console`. */
export const consoleFolder = root => join(root, "packages/console/dist")
export const stampOfConsole = root => join(consoleFolder(root), "stamp.json")

/** Looks at each source: some milliseconds, where loading them takes hundreds. */
const isMadeOf = (root, stamp) => {
  try {
    const { builtAt, files } = JSON.parse(readFileSync(stamp, "utf8"))
    return Object.entries(files).every(([file, bytes]) => {
      const { mtimeMs, size } = statSync(`${root}/${file}`)
      return mtimeMs <= builtAt && size === bytes
    })
  } catch {
    return false
  }
}

export const isFresh = root => isMadeOf(root, stampFile(root))

/** An archive without the console's sources has it made, or has none. */
export const isConsoleFresh = root =>
  !existsSync(join(root, "packages/console/src")) || isMadeOf(root, stampOfConsole(root))

/** In a process of its own, so that the bundler's memory is not the server's. It says itself what went wrong. */
const build = root => {
  const program = join(root, "tools/bundle.ts")
  if (existsSync(program)) spawnSync(process.execPath, [program], { stdio: ["ignore", "ignore", "inherit"] })
  return isFresh(root)
}

export const runProgram = async (name, { makesBundle } = { makesBundle: false }) => {
  const root = join(import.meta.dirname, "../../..")
  const isWhole = isFresh(root) && (!makesBundle || isConsoleFresh(root))
  const isBundled = isWhole || (makesBundle ? build(root) : isFresh(root))
  await import(isBundled ? `../dist/${name}.js` : `../src/${name}.ts`)
}
