/** Programs of the Python index in an environment of their own, which is made again when their versions change. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const PACKAGES = ["openapi-spec-validator==0.9.0", "openapi-python-client==0.29.1", "schemathesis==4.32.5"]
const ENVIRONMENT = resolve("node_modules/.cache/contract-python")
/** Written when everything is installed. */
const INSTALLED = join(ENVIRONMENT, "packages.txt")

export const run = (program: string, parameters: readonly string[], cwd?: string): string => {
  const { status, stdout, stderr } = spawnSync(program, parameters, { cwd, encoding: "utf8" })
  if (status !== 0) throw new Error(`${program} ${parameters.join(" ")} failed:\n${stdout}${stderr}`)
  return stdout + stderr
}

export const hasPython = (): boolean => spawnSync("python3", ["-m", "venv", "--help"]).status === 0

/** The path of a program in the environment. */
export const pythonTool = (name: string): string => {
  const wanted = PACKAGES.join("\n")
  if (!existsSync(INSTALLED) || readFileSync(INSTALLED, "utf8") !== wanted) {
    rmSync(ENVIRONMENT, { recursive: true, force: true })
    run("python3", ["-m", "venv", ENVIRONMENT])
    run(join(ENVIRONMENT, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", ...PACKAGES])
    writeFileSync(INSTALLED, wanted)
  }
  return join(ENVIRONMENT, "bin", name)
}
