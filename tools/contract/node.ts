/**
 * Programs of the npm registry that our own dependencies cannot stand beside: their peer is an older TypeScript. They live in
 * a folder of their own, which is made again when their versions change, so that `npm ci` does not bring them.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { run } from "./python.ts"

const DEPENDENCIES = { "openapi-typescript": "7.13.0", "openapi-fetch": "0.17.0", typescript: "5.9.3" }
const FOLDER = resolve("node_modules/.cache/contract-node")
/** Written when everything is installed. */
const INSTALLED = join(FOLDER, "installed.json")

/** A folder with those packages in its node_modules. */
export const nodeFolder = (): string => {
  const wanted = JSON.stringify(DEPENDENCIES)
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, "utf8") === wanted) return FOLDER
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(
    join(FOLDER, "package.json"),
    JSON.stringify({ private: true, type: "module", dependencies: DEPENDENCIES }),
  )
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], FOLDER)
  writeFileSync(INSTALLED, wanted)
  return FOLDER
}
