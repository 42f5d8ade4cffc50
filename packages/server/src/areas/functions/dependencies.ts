/** Packages that code names and does not bring: told at the deployment, for at the first call it would fail. */
import { fault } from "../../kernel/fault.ts"
import type { CodeFile } from "./code.ts"
import type { RuntimeName } from "./runtimes.ts"

const NAMED_MAX = 10
const SOURCE = /\.[cm]?[jt]sx?$/
/** PEP 508: a name, before its extras, versions and markers. */
const REQUIREMENT = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?/

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const textOf = (files: readonly CodeFile[], path: string): string | undefined =>
  files.find(file => file.path === path)?.content.toString()

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** Of `dependencies`, those that the code imports and `node_modules` does not have: a bundle may name what it contains. */
const missingPackages = (files: readonly CodeFile[]): readonly string[] => {
  const manifest = parse(textOf(files, "package.json") ?? "")
  if (!isFields(manifest) || !isFields(manifest.dependencies)) return []
  const absent = Object.keys(manifest.dependencies).filter(
    name => !files.some(({ path }) => path.startsWith(`node_modules/${name}/`)),
  )
  if (absent.length === 0) return []
  const sources = files.filter(({ path }) => SOURCE.test(path) && !path.startsWith("node_modules/"))
  const texts = sources.map(({ content }) => content.toString())
  return absent.filter(name => {
    const imports = new RegExp(`(?:from|import|require\\()\\s*\\(?\\s*["'\`]${literal(name)}["'\`/]`)
    return texts.some(text => imports.test(text))
  })
}

/** PEP 503: how names of packages are compared. Metadata folders have underscores. */
const normal = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, "_")

/** Of `requirements.txt`, those of which there is neither metadata nor a module of their name. */
const missingRequirements = (files: readonly CodeFile[]): readonly string[] => {
  const lines = (textOf(files, "requirements.txt") ?? "").split("\n").map(line => line.trim())
  // What has a marker may be meant for another machine.
  const wanted = lines.filter(line => !line.includes(";")).flatMap(line => REQUIREMENT.exec(line)?.[0] ?? [])
  if (wanted.length === 0) return []
  const tops = new Set(files.map(({ path }) => path.split("/")[0] ?? ""))
  const installed = new Set(
    [...tops].map(top => normal(top.replace(/-[^-]*\.(?:dist|egg)-info$/, "").replace(/\.py$/, ""))),
  )
  return wanted.filter(name => !installed.has(normal(name)))
}

const listed = (names: readonly string[]): string =>
  names.length <= NAMED_MAX
    ? names.join(", ")
    : `${names.slice(0, NAMED_MAX).join(", ")} and ${names.length - NAMED_MAX} more`

/** Throws `invalid_function_code` that says what is missing and how to bring it. */
export const checkDependencies = (runtime: RuntimeName, files: readonly CodeFile[]): void => {
  const packages = runtime === "nodejs" ? missingPackages(files) : []
  if (packages.length > 0) {
    const reason = `package.json names packages that the code imports and does not bring: ${listed(packages)}. Run npm install and deploy the folder with node_modules, or bundle them into the code`
    throw fault("invalid_function_code", { reason })
  }
  const requirements = runtime === "python3" ? missingRequirements(files) : []
  if (requirements.length > 0) {
    const reason = `requirements.txt names packages that the code does not bring: ${listed(requirements)}. Run pip install -r requirements.txt -t . in its folder and deploy that`
    throw fault("invalid_function_code", { reason })
  }
}
