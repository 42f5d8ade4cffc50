import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { echo, wasmOf } from "../../../server/src/areas/functions/testing/wasm.ts"
import { everyScope, platform } from "../../../server/src/testing/platform.ts"
import { bin, openFolder, openShell } from "../testing/command.ts"

const functionsWorld = async (t: TestContext) => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const shell = await openShell(t, p.url, secret)
  return { ...shell, secret, svc: p.as(secret), folder: await openFolder(t) }
}

test("a file is deployed under its name, and deployed anew the next time", async t => {
  const { run, svc, folder } = await functionsWorld(t)
  const path = join(folder, "hello.js")
  await writeFile(path, "export const handler = () => process.env.A")
  await writeFile(join(folder, "env"), "A=one\n# B\n")
  const first = await run(["functions", "deploy", "hello", path, "--env-file", join(folder, "env"), "--json"])
  assert.equal(first.code, 0, first.err)
  const { version, env_names, runtime } = JSON.parse(first.out)
  assert.deepEqual([version, env_names, runtime], [1, ["A"], "nodejs"])
  const second = await run(["functions", "deploy", "hello", path, "--memory-mb", "256", "--public", "--json"])
  assert.deepEqual([JSON.parse(second.out).version, JSON.parse(second.out).public], [2, true])
  const invoked = await run(["functions", "invoke", "hello", "--payload", '{"a":1}', "--json"])
  assert.equal(invoked.code, 0, invoked.err)
  assert.equal(JSON.parse(invoked.out).result, "one")
  assert.equal((await svc.functions.get({ id: "hello" })).memory_mb, 256)
})

test("a folder is deployed with all its files, those that are no text and may be executed included", async t => {
  const { run, folder, svc } = await functionsWorld(t)
  await mkdir(join(folder, "lib"))
  await writeFile(
    join(folder, "index.py"),
    "from lib.two import TWO\ndef handler(event, context):\n  return TWO\n",
  )
  await writeFile(join(folder, "lib", "two.py"), "TWO = 2\n")
  const { code, err } = await run(["functions", "deploy", "two", folder])
  assert.equal(code, 0, err)
  const answer = await svc.functions.invoke({ id: "two", payload: {} })
  assert.equal("result" in answer && answer.result, 2)
  await writeFile(join(folder, "image"), Buffer.from([255, 254, 0]))
  await writeFile(join(folder, "say"), "#!/bin/sh\necho said\n", { mode: 0o755 })
  await writeFile(
    join(folder, "index.py"),
    "import subprocess\ndef handler(event, context):\n" +
      "  said = subprocess.run(['/var/task/say'], capture_output=True, text=True).stdout\n" +
      "  return [list(open('/var/task/image', 'rb').read()), said]\n",
  )
  const second = await run(["functions", "deploy", "two", folder])
  assert.equal(second.code, 0, second.err)
  const bytes = await svc.functions.invoke({ id: "two", payload: {} })
  assert.deepEqual("result" in bytes && bytes.result, [[255, 254, 0], "said\n"])
})

test("a folder whose dependencies are not installed is refused, and says what to do", async t => {
  const { run, folder } = await functionsWorld(t)
  await writeFile(join(folder, "package.json"), '{"type":"module","dependencies":{"ms":"2.1.3"}}')
  await writeFile(join(folder, "index.js"), 'import ms from "ms"\nexport const handler = () => ms(1000)\n')
  const { code, err } = await run(["functions", "deploy", "late", folder])
  assert.equal(code, 1)
  assert.match(err, /package\.json.*: ms\. Run npm install/)
})

test("a module of WebAssembly is deployed by its file", async t => {
  const { run, folder, svc } = await functionsWorld(t)
  const path = join(folder, "echo.wasm")
  await writeFile(path, Buffer.from(wasmOf(echo), "base64"))
  const { code, err } = await run(["functions", "deploy", "echo", path])
  assert.equal(code, 0, err)
  const answer = await svc.functions.invoke({ id: "echo", payload: { n: 1 } })
  assert.deepEqual("result" in answer && answer.result, { n: 1 })
})

test("what cannot be deployed is told before anything is sent", async t => {
  const { run } = await functionsWorld(t)
  for (const [line, message] of [
    [["functions", "deploy"], /name the function/],
    [["functions", "deploy", "a", "/nowhere/at/all.js"], /there is no/],
    [["functions", "deploy", "a", "b", "c"], /unexpected word: c/],
    [["functions", "logs"], /name the function/],
  ] as const) {
    const { code, err } = await run(line)
    assert.equal(code, 2)
    assert.match(err, message)
  }
})

test("logs are printed, and followed until the command is ended", async t => {
  const { run, svc, env, secret } = await functionsWorld(t)
  const code = "export const handler = e => console.log('line', e.n)"
  const { id } = await svc.functions.create({ name: "talk", runtime: "nodejs", code })
  await svc.functions.invoke({ id, payload: { n: 1 } })
  const { out } = await run(["functions", "logs", "talk"])
  assert.match(out, /stdout {2}line 1\n$/)
  const child = spawn(process.execPath, [bin, "functions", "logs", "talk", "-f"], {
    ...{ env: { ...env, SVC_TOKEN: secret }, stdio: ["ignore", "pipe", "inherit"] as const },
  })
  t.after(() => child.kill())
  let seen = ""
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    if (seen === "") await svc.functions.invoke({ id, payload: { n: 2 } })
    seen += chunk
    if (/line 2/.test(seen)) break
  }
  assert.match(seen, /line 1[\s\S]*line 2/)
  child.kill()
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
})
