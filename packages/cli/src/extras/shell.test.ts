import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import { after, before, type TestContext, test } from "node:test"
import { promisify } from "node:util"
import { everyScope, platform, type TestPlatform } from "../../../server/src/testing/platform.ts"
import { createEscapes } from "../escapes.ts"
import { bin, openShell } from "../testing/command.ts"
import { findProgram } from "./machine.ts"

let p: TestPlatform
let secret: string
let id: string
const opened = new AsyncDisposableStack()
before(async () => {
  p = await platform({ after: end => opened.defer(async () => void (await end())) })
  secret = (await p.key("acme", everyScope)).secret
  const created = await p.as(secret).sandboxes.create({ memory_mb: 256, idle_timeout_seconds: 0 })
  id = created.id
})
after(() => opened.disposeAsync())

/** util-linux's `script` gives a program a terminal. */
const script = await findProgram("script", process.env.PATH)
const skip = script === undefined && "there is no program script"

const PATIENCE_MS = 60_000

/** Runs a line of the shell in a terminal, in which `$SVC` is the command line. */
const inTerminal = async (t: TestContext, line: string, url = p.url) => {
  const { env } = await openShell(t, url, secret)
  const child = spawn(script ?? "", ["-qfec", line, "/dev/null"], {
    env: { ...env, SVC_TOKEN: secret, SVC: `${process.execPath} ${bin}`, SHELL: "/bin/sh", TERM: "vt220" },
    stdio: "pipe",
  })
  t.after(() => child.kill("SIGKILL"))
  let output = ""
  let look = () => {}
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk
    look()
  })
  const exited = new Promise<number | null>(resolve => child.once("close", resolve))
  return {
    type: (text: string) => void child.stdin.write(text),
    output: () => output,
    exited,
    async until(pattern: RegExp): Promise<RegExpExecArray> {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
      look = () => {
        const found = pattern.exec(output)
        if (found) resolve(found)
      }
      look()
      const timer = setTimeout(
        () => reject(new Error(`never came: ${pattern} in ${JSON.stringify(output)}`)),
        PATIENCE_MS,
      )
      return promise.finally(() => clearTimeout(timer))
    },
  }
}

/** Says how the terminal was before and after, and where it is. */
const watched = (command: string) =>
  `stty rows 33 cols 99; tty; echo "before $(stty -g) end"; ${command}; echo "code $? after $(stty -g) end"`

const isRestored = (output: string): boolean => {
  const [, before] = /before (\S+) end/.exec(output) ?? []
  const [, after] = /after (\S+) end/.exec(output) ?? []
  return before !== undefined && before === after
}

test("a shell has the size, keys and exit code of this terminal, which is as before afterwards", {
  skip,
}, async t => {
  const terminal = await inTerminal(t, watched(`$SVC sandboxes shell ${id}`))
  const [, device = ""] = await terminal.until(/(\/dev\/pts\/\d+)\r\n/)
  terminal.type("stty size; echo $TERM-$((40 + 2))\r")
  await terminal.until(/33 99\r\nvt220-42\r\n/)
  await promisify(execFile)("stty", ["-F", device, "rows", "41", "cols", "77"])
  terminal.type("until [ \"$(stty size)\" = '41 77' ]; do sleep 0.05; done; echo resized-$((1 + 1))\r")
  await terminal.until(/resized-2/)
  // Said by the program itself: a shell that is only about to start one would lose the key.
  terminal.type("sh -c 'echo going-$((1 + 1)); exec sleep 1000'\r")
  await terminal.until(/going-2/)
  terminal.type("\x03")
  await terminal.until(/going-2[\s\S]*\$ $/)
  terminal.type("echo interrupted-$((1 + 1)); exit 6\r")
  await terminal.until(/interrupted-2/)
  await terminal.until(/code 6 after/)
  assert.equal(await terminal.exited, 0)
  assert.ok(isRestored(terminal.output()), terminal.output())
})

/** Another address of the platform, where handshakes of terminals are held until they may go on. */
const holdingTerminals = async (t: TestContext) => {
  const held = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const server = createServer(client => {
    client.on("error", () => undefined)
    client.once("data", async head => {
      client.pause()
      if (head.includes("/terminal")) {
        held.resolve()
        await goOn.promise
      }
      const far = connect(Number(new URL(p.url).port), "127.0.0.1").on("error", () => client.destroy())
      far.write(head)
      client.pipe(far).pipe(client)
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, held: held.promise, goOn: goOn.resolve }
}

test("a shell has the size that this terminal took while it was reached", { skip }, async t => {
  const { url, held, goOn } = await holdingTerminals(t)
  const terminal = await inTerminal(t, watched(`$SVC sandboxes shell ${id}`), url)
  const [, device = ""] = await terminal.until(/(\/dev\/pts\/\d+)\r\n/)
  await held
  await promisify(execFile)("stty", ["-F", device, "rows", "41", "cols", "77"])
  goOn()
  terminal.type("until [ \"$(stty size)\" = '41 77' ]; do sleep 0.05; done; exit 4\r")
  await terminal.until(/code 4 after/)
  assert.equal(await terminal.exited, 0)
})

test("the terminal is as before when the sandbox ends, when svc is told to, and after ~.", {
  skip,
}, async t => {
  const leaves = await inTerminal(t, watched(`$SVC sandboxes shell ${id} -- 'echo ready; cat'`))
  await leaves.until(/ready/)
  leaves.type("\r~.")
  await leaves.until(/code 3 after \S+ end/)
  assert.ok(isRestored(leaves.output()), leaves.output())

  const told = await inTerminal(t, watched(`$SVC sandboxes shell ${id} -- 'echo ready; cat'`))
  await told.until(/ready/)
  const [, device = ""] = await told.until(/\/dev\/(pts\/\d+)\r\n/)
  const { stdout } = await promisify(execFile)("ps", ["-t", device, "-o", "pid=,args="])
  const pid = Number(/(\d+) \S*node \S*svc\.js sandboxes shell/.exec(stdout)?.[1])
  process.kill(pid, "SIGTERM")
  await told.until(/code 143 after \S+ end/)
  assert.ok(isRestored(told.output()), told.output())

  const svc = p.as(secret)
  const { id: brief } = await svc.sandboxes.create({ memory_mb: 256 })
  const ends = await inTerminal(t, watched(`$SVC sandboxes shell ${brief} -- 'echo ready; cat'`))
  await ends.until(/ready/)
  await svc.sandboxes.delete({ id: brief })
  await ends.until(/the machine has ended \(connection_closed\)/)
  await ends.until(/code 3 after \S+ end/)
  assert.ok(isRestored(ends.output()), ends.output())
})

test("without a terminal here there is none there: input and outputs are piped as they are", async t => {
  const shell = await openShell(t, p.url, secret)
  const command = "tty; wc -c; echo no >&2; exit 5"
  const ran = await shell.run(["sandboxes", "shell", id, "--root", "--cwd", "/tmp", "--", command], {
    input: "x".repeat(1_000_000),
  })
  assert.deepEqual(ran, { code: 5, out: "not a tty\n1000000\n", err: "no\n" })
  const large = await shell.run(["sandboxes", "shell", id, "--", "head -c 3000000 /dev/zero | tr '\\0' y"])
  assert.deepEqual([large.code, large.out.length, large.err], [0, 3_000_000, ""])
})

test("a refusal is told as that of any command", async t => {
  const shell = await openShell(t, p.url, secret)
  const missing = await shell.run(["sandboxes", "shell", "00000000-0000-7000-8000-000000000000"])
  assert.equal(missing.code, 1)
  assert.match(missing.err, /\(sandbox_not_found\)/)
  const nobody = await shell.run(["computers", "shell", "no-such"])
  assert.deepEqual([nobody.code, nobody.out], [2, ""])
  assert.match(nobody.err, /there is no computer no-such/)
  const { id: computer } = await p.as(secret).computers.create({ name: "web1", memory_mb: 256 })
  const named = await shell.run(["computers", "shell", "web1", "--", "hostname"])
  assert.deepEqual([named.code, named.out], [0, "web1\n"], named.err)
  assert.equal((await shell.run(["computers", "shell", computer, "--root", "--", "id", "-un"])).out, "root\n")
  assert.equal((await shell.run(["sandboxes", "terminal", id])).code, 2)
})

test("~. leaves at the beginning of a line only, and ~~ is one tilde", () => {
  const typed = (...texts: string[]) => {
    const escapes = createEscapes()
    const all = texts.map(text => escapes(Buffer.from(text)))
    return [
      Buffer.concat(all.map(({ bytes }) => bytes)).toString(),
      all.some(({ leaves }) => leaves),
    ] as const
  }
  assert.deepEqual(typed("~."), ["", true])
  assert.deepEqual(typed("ls\r", "~", "."), ["ls\r", true])
  assert.deepEqual(typed("ls ~.\r"), ["ls ~.\r", false])
  assert.deepEqual(typed("~~.\r~a"), ["~.\r~a", false])
  assert.deepEqual(typed("cd ~\n~/"), ["cd ~\n~/", false])
})
