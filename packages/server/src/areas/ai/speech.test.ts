import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { everyScope, platform } from "../../testing/platform.ts"
import type { SpeechTask } from "./engines/speech/messages.ts"
import { createSpeech } from "./engines/speech/speech.ts"
import { aiWorld } from "./testing/world.ts"

const WAV_HEADER_BYTES = 44

/** Samples of 16 bits, and how loud the loudest is. */
const loudest = (bytes: Buffer): number => {
  let most = 0
  for (let at = 0; at + 1 < bytes.length; at += 2) most = Math.max(most, Math.abs(bytes.readInt16LE(at)))
  return most
}

const crossings = (bytes: Buffer): number => {
  let count = 0
  for (let at = 2; at + 1 < bytes.length; at += 2)
    if (bytes.readInt16LE(at - 2) < 0 !== bytes.readInt16LE(at) < 0) count++
  return count / bytes.length
}

const TASK: SpeechTask = { text: "Hello", voice: "alloy", speed: 1, format: "pcm" }

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test("without an upstream a text is read aloud by the embedded engine, which says so", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", everyScope)
  const speak = (body: object) =>
    p.request("/v1/ai/audio/speech", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ input: "Hello there, this is a test.", ...body }),
    })
  const bytesOf = async (body: object) => Buffer.from(await (await speak(body)).arrayBuffer())

  const reply = await speak({ response_format: "wav" })
  assert.equal(reply.status, 200)
  const told = ["content-type", "x-svc-provider", "x-svc-model", "x-svc-method", "x-svc-attempts"]
  assert.deepEqual(
    told.map(name => reply.headers.get(name)),
    ["audio/wav", "embedded", "svc-espeak", "embedded", "1"],
  )
  const wav = Buffer.from(await reply.arrayBuffer())
  assert.equal(wav.toString("latin1", 0, 4) + wav.toString("latin1", 8, 16), "RIFFWAVEfmt ")
  assert.equal(wav.readUInt32LE(24), 22_050)
  assert.equal(wav.readUInt32LE(40), wav.length - WAV_HEADER_BYTES)
  const seconds = (wav.length - WAV_HEADER_BYTES) / 2 / 22_050
  assert.ok(seconds > 1 && seconds < 4, `${seconds} s`)
  assert.ok(loudest(wav.subarray(WAV_HEADER_BYTES)) > 3_000)

  const pcm = await bytesOf({ response_format: "pcm" })
  assert.ok(Math.abs(pcm.length / 2 / 24_000 - seconds) < 0.01)
  const mp3 = await speak({})
  assert.equal(mp3.headers.get("content-type"), "audio/mpeg")
  const frames = Buffer.from(await mp3.arrayBuffer())
  // The sync word of an MPEG frame: eleven bits that are set.
  assert.equal(frames.readUInt16BE(0) & 0xffe0, 0xffe0)
  assert.ok(Math.abs((frames.length * 8) / 64_000 - seconds) < 0.5)

  assert.ok((await bytesOf({ response_format: "pcm", speed: 2 })).length < pcm.length * 0.7)
  // A high voice crosses zero more often than a low one.
  const [high, low] = [await bytesOf({ response_format: "pcm", voice: "nova" }), pcm].map(crossings)
  assert.ok(Number(high) > Number(low) * 1.05, `${high} ${low}`)
  assert.equal((await speak({ voice: "de+f3" })).status, 200)

  for (const wrong of [
    { response_format: "opus" },
    { response_format: "exe" },
    { voice: "nobody" },
    { voice: 7 },
  ]) {
    const refused = await speak(wrong)
    assert.equal(refused.status, 400, JSON.stringify(wrong))
    assert.equal(((await refused.json()) as { code: string }).code, "invalid_parameter")
  }
  assert.match(await (await speak({ response_format: "exe" })).text(), /mp3.*wav.*pcm/)

  const { data } = await p.as(secret).ai.models({})
  assert.deepEqual(data.find(({ id }) => id === "svc-espeak")?.capabilities, ["speech"])
})

test("markup in a text is read, and not obeyed", async () => {
  await using speech = createSpeech()
  const seconds = async (text: string) => (await speech.speak("a", { ...TASK, text })).length / 2 / 24_000
  assert.ok((await seconds(`one <break time="500s"/> two`)) < 15)
  assert.ok((await seconds("a < b & c")) > (await seconds("a")))
})

test("a speech that would be longer than allowed is refused", async () => {
  await using speech = createSpeech({ secondsMax: 2 })
  await assert.rejects(speech.speak("a", { ...TASK, text: "word ".repeat(800) }), {
    code: "invalid_parameter",
    message: /longer than 2 seconds/,
  })
  assert.ok((await speech.speak("a", TASK)).length > 0)
})

test("an upstream for speech comes before the embedded engine, which is still there by its name", async t => {
  const world = await aiWorld(t)
  const ask = (fields: object) => world.post("/v1/ai/audio/speech", { input: "Hello", ...fields })
  assert.equal((await ask({})).headers.get("x-svc-provider"), "first")
  const own = await ask({ model: "svc-espeak", response_format: "wav" })
  assert.equal(own.headers.get("x-svc-provider"), "embedded")
  await own.arrayBuffer()
})

test("the speech process starts at first use, its crash is one 503, and it ends when it is idle", async () => {
  await using speech = createSpeech({ idleMs: 50 })
  assert.equal(speech.pid, undefined)
  const asked = speech.speak("a", TASK)
  const { pid } = speech
  assert.ok(pid !== undefined)
  process.kill(pid, "SIGKILL")
  await assert.rejects(asked, { code: "all_providers_exhausted", status: 503 })

  const again = speech.speak("a", TASK)
  const second = speech.pid
  assert.ok(second !== undefined && second !== pid)
  assert.ok((await again).length > 0)
  await eventually("the process has ended", () => Promise.resolve(!isAlive(second)))
  assert.equal(speech.pid, undefined)
})

test("a text that takes too long ends the process, and those that wait are bounded", async () => {
  await using speech = createSpeech({ timeoutMs: 1 })
  const long = { ...TASK, text: "word ".repeat(400) }
  await assert.rejects(speech.speak("a", long), { code: "all_providers_exhausted", message: /longer than/ })

  await using busy = createSpeech()
  const asked = Array.from({ length: 5 }, () => busy.speak("a", TASK))
  await assert.rejects(busy.speak("a", TASK), { code: "all_providers_exhausted" })
  assert.ok((await busy.speak("b", TASK)).length > 0)
  assert.ok((await Promise.all(asked)).every(({ length }) => length > 0))
})

test("without the optional package speech is 503 and names it", async () => {
  await using speech = createSpeech({ isInstalled: false })
  await assert.rejects(speech.speak("a", TASK), {
    code: "all_providers_exhausted",
    message: /@echogarden\/espeak-ng-emscripten/,
  })
})
