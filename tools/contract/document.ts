/** The OpenAPI document against a validator and two generators that others wrote; what they generate has to compile. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { allOperations } from "@svc/contract"
import { renderOpenApi } from "../../packages/server/src/kernel/edges/openapi.ts"
import { nodeFolder } from "./node.ts"
import { pythonTool, run } from "./python.ts"

/** A module of a client is imported only if what it refers to is there. */
const IMPORT_ALL = `
import importlib, pkgutil, svc_client
names = [module.name for module in pkgutil.walk_packages(svc_client.__path__, "svc_client.")]
for name in names: importlib.import_module(name)
print(len(names), "modules of the generated Python client are imported")
assert len(names) > 1000
`

/** Calls as somebody writes them who has only the generated types. */
const CALLS = `
import createClient from "openapi-fetch"
import type { paths } from "./schema.ts"

const client = createClient<paths>({ baseUrl: "http://localhost:4800" })

export const calls = async (): Promise<readonly string[]> => {
  const set = await client.POST("/v1/kv/set", { body: { key: "greeting", value: { text: "hello" } } })
  if (set.error) throw new Error(set.error.code)
  // @ts-expect-error A value needs its key.
  await client.POST("/v1/kv/set", { body: { value: 1 } })

  const database = await client.GET("/v1/databases/{id}", { params: { path: { id: "some-id" } } })
  const version: string | undefined = database.data?.data.pg_version.toString()

  const object = await client.GET("/v1/storage/buckets/{bucket}/objects/{key}", {
    params: { path: { bucket: "photos", key: "one.jpg" }, header: { Range: "bytes=0-99" } },
    parseAs: "stream",
  })
  await object.data?.cancel()

  const page = await client.GET("/v1/keys", { params: { query: { limit: 10 } } })
  // @ts-expect-error No such parameter.
  await client.GET("/v1/keys", { params: { query: { limits: 10 } } })
  return [version ?? "", ...(page.data?.data.map(({ name }) => name) ?? [])]
}
`

const COMPILER = [
  ...["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--noEmit"],
  ...["--allowImportingTsExtensions", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"],
]

const compileTypeScript = (document: string, folder: string): void => {
  const packages = join(nodeFolder(), "node_modules")
  const client = join(folder, "typescript")
  mkdirSync(client)
  symlinkSync(packages, join(client, "node_modules"))
  writeFileSync(join(client, "package.json"), JSON.stringify({ type: "module" }))
  writeFileSync(join(client, "calls.ts"), CALLS)
  run(join(packages, ".bin/openapi-typescript"), [document, "-o", "schema.ts"], client)
  run(join(packages, ".bin/tsc"), [...COMPILER, "calls.ts"], client)
  process.stdout.write("calls of the generated TypeScript client compile\n")
}

/** Its generator knows few media types; these are bytes. */
const PYTHON_SETTINGS = {
  content_type_overrides: {
    "*/*": "application/octet-stream",
    "application/offset+octet-stream": "application/octet-stream",
    "image/gif": "application/octet-stream",
    "application/zip": "application/octet-stream",
    "application/gzip": "application/octet-stream",
    ...Object.fromEntries(
      ["mpeg", "wav", "ogg", "aac", "flac", "pcm"].map(name => [`audio/${name}`, "application/octet-stream"]),
    ),
  },
}

const importPython = (document: string, folder: string): void => {
  const settings = join(folder, "settings.json")
  writeFileSync(settings, JSON.stringify(PYTHON_SETTINGS))
  const told = run(
    pythonTool("openapi-python-client"),
    ["generate", "--path", document, "--config", settings, "--meta", "none", "--output-path", "svc_client"],
    folder,
  )
  // It leaves out what it cannot name or read, and goes on.
  if (/WARNING|ERROR/.test(told)) throw new Error(`openapi-python-client:\n${told}`)
  process.stdout.write(run(pythonTool("python3"), ["-c", IMPORT_ALL], folder))
}

/** Throws what the first of them says that does not get through. */
export const checkDocument = (folder: string): void => {
  const document = join(folder, "openapi.json")
  writeFileSync(document, JSON.stringify(renderOpenApi(allOperations, { baseUrl: "http://localhost:4800" })))
  process.stdout.write(run(pythonTool("openapi-spec-validator"), [document]))
  importPython(document, folder)
  compileTypeScript(document, folder)
}
