import assert from "node:assert/strict"
import { test } from "node:test"
import { isFault } from "../../kernel/fault.ts"
import { fromFiles } from "./code.ts"
import { checkDependencies } from "./dependencies.ts"

const manifest = JSON.stringify({ dependencies: { ms: "2", "@scope/a.b": "1", unused: "1" } })

const problem = (runtime: "nodejs" | "python3", files: Readonly<Record<string, string>>): string => {
  try {
    checkDependencies(runtime, fromFiles(files))
    return ""
  } catch (error) {
    assert.ok(isFault(error, "invalid_function_code"))
    return error.message
  }
}

test("packages that JavaScript imports and does not bring are named", () => {
  const imports = [
    'import ms from "ms"',
    'import "ms"',
    "const ms = require('ms')",
    'await import("ms/index.js")',
    "export * from 'ms'",
  ]
  for (const line of imports) {
    const code = { "package.json": manifest, "index.js": line }
    assert.match(problem("nodejs", code), /does not bring: ms\. Run npm install/, line)
    assert.equal(problem("nodejs", { ...code, "node_modules/ms/package.json": "{}" }), "", line)
  }
  const scoped = { "package.json": manifest, "lib/a.mjs": 'import { b } from "@scope/a.b"' }
  assert.match(problem("nodejs", scoped), /: @scope\/a\.b\./)
})

test("what is only named, or named in no package.json that is one, is no problem", () => {
  const cases: Record<string, string>[] = [
    { "package.json": manifest, "index.js": 'const text = "ms"' },
    { "package.json": manifest, "index.js": 'import ms from "msx"' },
    { "package.json": "not JSON", "index.js": 'import ms from "ms"' },
    { "package.json": '{"dependencies": 1}', "index.js": 'import ms from "ms"' },
    { "index.js": 'import ms from "ms"' },
  ]
  for (const files of cases) assert.equal(problem("nodejs", files), "", JSON.stringify(files))
})

test("packages that Python requires and does not bring are named", () => {
  const requirements = [
    "# a comment",
    "-r more.txt",
    "",
    "requests[socks]>=2,<3",
    "Flask_Login == 0.6",
    'pywin32; sys_platform == "win32"',
    "six",
  ].join("\n")
  const code = { "requirements.txt": requirements, "index.py": "import requests", "six.py": "" }
  assert.match(problem("python3", code), /: requests, Flask_Login\. Run pip install/)
  const installed = {
    "requests-2.32.3.dist-info/METADATA": "",
    "flask_login/__init__.py": "",
  }
  assert.equal(problem("python3", { ...code, ...installed }), "")
})
