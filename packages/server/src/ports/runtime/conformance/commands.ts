import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { buffer, text } from "node:stream/consumers"
import { test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import { processesWith, rejectsAs, run, type Subject, shell, startIn, tooMuchFor } from "./fixture.ts"

const resultTests = (subject: Subject): void => {
  test("a command gets its arguments, environment and directory to the letter, and its streams stay apart", async t => {
    const { guest } = await startIn(t, subject)
    const odd = ["a b", "", "'\"$(id)`;\\", "line\nbreak", "žluťoučký 😀", "-x"]
    const told = await run(guest, { argv: ["printf", "%s|", ...odd] })
    assert.equal(told.stdout, `${odd.join("|")}|`)
    const script = 'echo "$NAME"; echo "$HOME $USER" >&2; pwd; exit 7'
    const result = await shell(guest, script, { env: { NAME: "a=b c" }, cwd: "/tmp" })
    assert.deepEqual(result, { stdout: "a=b c\n/tmp\n", stderr: "/home/user user\n", code: 7, signal: null })
    assert.equal((await shell(guest, "pwd")).stdout, "/workspace\n")
  })

  test("who hears of a result has heard what was written to the errors before it", async t => {
    const { guest } = await startIn(t, subject)
    const script = 'n=0; while read go; do n=$((n + 1)); echo "error $n" >&2; echo "result $n"; done'
    const process = await guest.exec({ argv: ["/bin/sh", "-c", script] })
    let errors = ""
    process.stderr.on("data", chunk => {
      errors += chunk
    })
    const heard: boolean[] = []
    process.stdout.on("data", () => {
      heard.push(errors.endsWith(`error ${heard.length + 1}\n`))
      if (heard.length < 200) process.stdin.write("go\n")
      else process.stdin.end()
    })
    process.stdin.write("go\n")
    await once(process.stdout, "end")
    assert.deepEqual(heard, Array(200).fill(true))
  })

  test("programs that look at files see them", async t => {
    const reason = subject.runtime.capabilities.reasons.find(text => text.includes("`ls`"))
    if (reason !== undefined) return t.skip(reason)
    const { guest } = await startIn(t, subject)
    const script =
      "echo text >file && ls -l /workspace/file && stat -c '%U %s' file && find /workspace -name file -size -2"
    const seen = await shell(guest, script)
    assert.match(seen.stdout, /^-rw-r--r-- 1 user user 5 .*\/workspace\/file\nuser 5\n\/workspace\/file\n$/)
  })

  test("an exit by a signal is told as one", async t => {
    const { guest } = await startIn(t, subject)
    // None of them is ignored, as some are by the agent that starts it.
    for (const name of ["TERM", "PIPE", "HUP", "INT", "QUIT", "FPE"]) {
      const result = await shell(guest, `kill -${name} $$`)
      assert.deepEqual([result.code, result.signal], [null, `SIG${name}`])
    }
  })

  test("a program or a directory that is not there is refused, and the next command runs", async t => {
    const { guest } = await startIn(t, subject)
    await rejectsAs("refused", () => guest.exec({ argv: ["no-such-program"] }))
    await rejectsAs("refused", () => guest.exec({ argv: ["true"], cwd: "/nowhere" }))
    await rejectsAs("refused", () => guest.exec({ argv: ["echo", "a\0b"] }))
    assert.equal((await shell(guest, "echo well")).stdout, "well\n")
  })

  test("the user is 1000 and owns his places; root is 0 and may change the rest of the disk", async t => {
    const { guest } = await startIn(t, subject)
    assert.equal(
      (await shell(guest, "id -u; id -g; touch /workspace/x ~/x /tmp/x && echo his")).stdout,
      "1000\n1000\nhis\n",
    )
    if (subject.runtime.capabilities.separatesRoot)
      assert.notEqual((await shell(guest, "touch /etc/x /root/x /srv/x")).code, 0)
    const root = await shell(guest, "id -u; touch /etc/x /root/x && chown root /etc/x && echo done", {
      user: "root",
    })
    assert.equal(root.stdout, "0\ndone\n")
  })

  test("fifty commands at once each get their own answer", async t => {
    const tooMuch = tooMuchFor(subject)
    if (tooMuch !== undefined) return t.skip(tooMuch)
    const { guest } = await startIn(t, subject, { processesMax: 200 })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => run(guest, { argv: ["cat"] }, `number ${n}`)),
    )
    assert.deepEqual(
      answers.map(({ stdout }) => stdout),
      answers.map((_, n) => `number ${n}`),
    )
  })
}

const streamTests = (subject: Subject): void => {
  test("megabytes go in and come out whole", async t => {
    const { guest } = await startIn(t, subject)
    const bytes = randomBytes(5_000_000)
    const command = await guest.exec({ argv: ["cat"] })
    command.stdin.end(bytes)
    const hash = (given: Buffer) => createHash("sha256").update(given).digest("hex")
    assert.equal(hash(await buffer(command.stdout)), hash(bytes))
    assert.deepEqual(await command.exited, { code: 0, signal: null })
  })

  test("a command that nobody listens to waits, and the platform holds a bounded part of what it says", async t => {
    const tooMuch = tooMuchFor(subject)
    if (tooMuch !== undefined) return t.skip(tooMuch)
    const { guest } = await startIn(t, subject)
    const command = await guest.exec({
      argv: ["/bin/sh", "-c", "dd if=/dev/zero bs=64k count=1600 && echo ended >&2"],
    })
    await eventually("its output arrives", () => command.stdout.readableLength > 60_000)
    // What is answered after it came later through the same connection.
    for (let n = 0; n < 5; n += 1) await shell(guest, "echo")
    assert.ok(command.stdout.readableLength < 1_000_000, String(command.stdout.readableLength))
    assert.equal(command.stderr.readableLength, 0)
    let count = 0
    for await (const part of command.stdout) count += part.length
    assert.equal(count, 1600 * 65_536)
    assert.match(await text(command.stderr), /ended/)
  })

  test("output that nobody wants any more is dropped, and the command goes on", async t => {
    const { guest } = await startIn(t, subject)
    const command = await guest.exec({ argv: ["/bin/sh", "-c", "head -c 3000000 /dev/zero; exit 4"] })
    command.stdout.destroy()
    assert.deepEqual(await command.exited, { code: 4, signal: null })
  })

  test("a daemon that keeps a command's output open holds up neither its end nor its streams", async t => {
    const tooMuch = tooMuchFor(subject)
    if (tooMuch !== undefined) return t.skip(tooMuch)
    const { guest } = await startIn(t, subject)
    const daemon =
      "(while :; do echo tick; echo tick >&2; sleep 0.02; echo x >>/workspace/ticks; done) & echo started"
    assert.match((await shell(guest, daemon)).stdout, /started/)
    const ticks = async () => Number((await shell(guest, "wc -l </workspace/ticks || echo 0")).stdout)
    await eventually("the daemon lives on", async () => (await ticks()) > 20)
  })

  test("input that ends is seen to end, and one that nobody reads does no harm", async t => {
    const { guest } = await startIn(t, subject)
    assert.equal((await run(guest, { argv: ["wc", "-c"] }, "12345")).stdout.trim(), "5")
    const deaf = await guest.exec({ argv: ["/bin/sh", "-c", "exec 0<&-; sleep 0.1; echo out"] })
    deaf.stdin.end(Buffer.alloc(2_000_000))
    assert.equal(await text(deaf.stdout), "out\n")
  })
}

const signalTests = (subject: Subject): void => {
  test("SIGTERM reaches a command's group, SIGKILL all that it ever started", async t => {
    const { guest } = await startIn(t, subject)
    const marker = `.${Math.floor(Math.random() * 1e9)}`
    const polite = await guest.exec({ argv: ["/bin/sh", "-c", `sleep 1000${marker}`] })
    polite.kill("SIGTERM")
    assert.deepEqual(await polite.exited, { code: null, signal: "SIGTERM" })
    const script = `(setsid sh -c 'trap "" TERM; (sleep 1000${marker} &); sleep 1000${marker}' &); echo; sleep 1000${marker}`
    const rude = await guest.exec({ argv: ["/bin/sh", "-c", script] })
    await once(rude.stdout, "data")
    const other = await guest.exec({ argv: ["sleep", "1000"] })
    rude.kill("SIGKILL")
    assert.deepEqual(await rude.exited, { code: null, signal: "SIGKILL" })
    await eventually("its daemons are gone", async () => (await processesWith(marker)).length === 0)
    other.kill("SIGINT")
    assert.deepEqual(await other.exited, { code: null, signal: "SIGINT" })
  })

  test("what a command left behind can be killed after its own end", async t => {
    const { guest } = await startIn(t, subject)
    const marker = `.${Math.floor(Math.random() * 1e9)}`
    const command = await guest.exec({ argv: ["/bin/sh", "-c", `setsid sleep 1000${marker} & exit 0`] })
    await command.exited
    command.kill("SIGKILL")
    await eventually("it is gone", async () => (await processesWith(marker)).length === 0)
  })

  test("a terminal has a size that changes, and turns Ctrl-C into a signal", async t => {
    const { guest } = await startIn(t, subject)
    // A shell that is about to start a program may lose a signal: the program itself says that it is there.
    const waits = `exec perl -e '$| = 1; print "waits\\n"; sleep 1000'`
    const script = `tty; stty size; trap 'stty size' WINCH; echo set; until read line; do :; done; stty size; echo "$line"; ${waits}`
    const command = await guest.exec({ argv: ["/bin/sh", "-c", script], terminal: { columns: 80, rows: 24 } })
    let said = ""
    command.stdout.on("data", bytes => {
      said += bytes
    })
    await eventually("it tells its size", () => /24 80\r\nset/.test(said))
    assert.match(said, /^\/dev\/pts\/\d+/)
    command.resize({ columns: 132, rows: 43 })
    command.stdin.write("typed\n")
    await eventually(
      "it tells the new size and the line",
      () => said.includes("43 132") && /typed\r\n.*typed/s.test(said),
    )
    await eventually("the program waits", () => said.includes("waits"))
    if (!subject.runtime.capabilities.terminalSignals) return command.kill("SIGKILL")
    command.stdin.write("\x03")
    assert.deepEqual(await command.exited, { code: null, signal: "SIGINT" })
  })
}

export const commandTests = (subject: Subject): void => {
  resultTests(subject)
  streamTests(subject)
  signalTests(subject)
}
