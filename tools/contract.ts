/**
 * `npm run contract`: the OpenAPI document against programs that others wrote. A validator reads it, and a generator makes a
 * client of it whose every module is imported. They live in a Python environment of their own.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { allOperations } from "../packages/contract/src/index.ts"
import { renderOpenApi } from "../packages/server/src/kernel/edges/openapi.ts"

const PACKAGES = ["openapi-spec-validator==0.9.0", "openapi-python-client==0.29.1"]
const ENVIRONMENT = resolve("node_modules/.cache/contract-python")
/** A module of a client is imported only if what it refers to is there. */
const IMPORT_ALL = `
import importlib, pkgutil, svc_client
names = [module.name for module in pkgutil.walk_packages(svc_client.__path__, "svc_client.")]
for name in names: importlib.import_module(name)
print(len(names), "modules of the generated client are imported")
assert len(names) > 1000
`

const run = (program: string, parameters: readonly string[], cwd?: string): string => {
  const { status, stdout, stderr } = spawnSync(program, parameters, { cwd, encoding: "utf8" })
  if (status !== 0) throw new Error(`${program} ${parameters.join(" ")} failed:\n${stdout}${stderr}`)
  return stdout + stderr
}

/** The program of that name in the environment, which is made when it is not there yet. */
const tool = (name: string): string => {
  const path = join(ENVIRONMENT, "bin", name)
  if (existsSync(path)) return path
  run("python3", ["-m", "venv", ENVIRONMENT])
  run(join(ENVIRONMENT, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", ...PACKAGES])
  return path
}

const checkDocument = (folder: string): void => {
  const document = join(folder, "openapi.json")
  writeFileSync(document, JSON.stringify(renderOpenApi(allOperations, { baseUrl: "http://localhost:4800" })))
  process.stdout.write(run(tool("openapi-spec-validator"), [document]))
  const told = run(
    tool("openapi-python-client"),
    ["generate", "--path", document, "--meta", "none", "--output-path", "svc_client"],
    folder,
  )
  // It leaves out what it cannot name or read, and goes on.
  if (/WARNING|ERROR/.test(told)) throw new Error(`openapi-python-client:\n${told}`)
  process.stdout.write(run(tool("python3"), ["-c", IMPORT_ALL], folder))
}

if (spawnSync("python3", ["-m", "venv", "--help"]).status !== 0) {
  process.stdout.write("skipped: contract (python3 with venv is missing)\n")
} else {
  const folder = mkdtempSync(join(tmpdir(), "svc-contract-"))
  try {
    checkDocument(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
