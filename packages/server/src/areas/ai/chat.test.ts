import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { aiWorld, eventsOf, MESSAGES, textOf } from "./testing/world.ts"

const TEXT = "The quick brown fox jumps over the lazy dog."

test("a chat is answered by the upstream in its own words, with unknown fields forwarded and its key", async t => {
  const { first, chat } = await aiWorld(t)
  const response = await chat({ temperature: 0.5, vendor_extra: { deep: [1, 2] } })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get("x-svc-provider"), "first")
  assert.equal(response.headers.get("x-svc-attempts"), "1")
  assert.equal(response.headers.get("x-svc-fallback"), "false")
  const reply = (await response.json()) as { choices: { message: { content: string } }[] }
  assert.equal(reply.choices[0]?.message.content, TEXT)
  const [asked] = first.asked
  assert.deepEqual(asked?.body, {
    model: "gpt-test",
    messages: MESSAGES,
    temperature: 0.5,
    vendor_extra: { deep: [1, 2] },
  })
  assert.equal(asked?.headers.authorization, "Bearer sk-first")
})

test("a model is named by its id, by upstream and id, or by default", async t => {
  const { first, second, chat } = await aiWorld(t)
  assert.equal((await chat({ model: "second/gpt-test" })).headers.get("x-svc-provider"), "second")
  assert.equal((await chat({ model: "svc-default" })).headers.get("x-svc-provider"), "first")
  assert.equal((await chat({ model: undefined })).headers.get("x-svc-provider"), "first")
  assert.equal(second.asked[0]?.body.model, "gpt-test")
  assert.equal(first.asked[0]?.body.model, "gpt-test")
  const unknown = await chat({ model: "gpt-unknown" })
  assert.equal(unknown.status, 404)
  assert.equal(((await unknown.json()) as { code: string }).code, "model_not_found")
})

test("where nothing is configured the answer is 503 at once, names the setting, and asks for no retry", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["ai:infer"])
  for (const path of ["/v1/ai/chat/completions", "/v1/ai/chat/completions/stream"]) {
    const response = await p.request(path, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ messages: MESSAGES }),
    })
    assert.equal(response.status, 503)
    assert.equal(response.headers.get("x-should-retry"), "false")
    const { code, error } = (await response.json()) as { code: string; error: string }
    assert.equal(code, "all_providers_exhausted")
    assert.match(error, /SVC_AI_URL/)
  }
})

test("a stream comes as events, on the plain route too, and tells its usage only to who asked", async t => {
  const { first, post, chat } = await aiWorld(t)
  const plain = await chat({ stream: true })
  assert.match(plain.headers.get("content-type") ?? "", /^text\/event-stream/)
  const events = await eventsOf(plain)
  assert.equal(textOf(events), TEXT)
  assert.equal(events.at(-1), "[DONE]")
  assert.ok(events.every(data => !/"usage":\{/.test(data)))
  assert.deepEqual(first.asked[0]?.body.stream_options, { include_usage: true })

  const forced = await post("/v1/ai/chat/completions/stream", {
    messages: MESSAGES,
    stream_options: { include_usage: true },
  })
  const told = await eventsOf(forced)
  const last = JSON.parse(told.at(-2) ?? "") as { choices: unknown[]; usage: { completion_tokens: number } }
  assert.deepEqual(last.choices, [])
  assert.equal(last.usage.completion_tokens, 9)
})

test("usage in a wrong chunk, in every chunk or nowhere ends in one chunk before the end", async t => {
  const { first, chat } = await aiWorld(t)
  for (const usage of ["with_finish", "every_chunk", "none"] as const) {
    first.next({ usage })
    const events = await eventsOf(await chat({ stream: true, stream_options: { include_usage: true } }))
    const chunks = events.slice(0, -1).map(data => JSON.parse(data) as { usage?: object | null; choices: [] })
    const telling = chunks.filter(chunk => chunk.usage)
    assert.equal(telling.length, 1, usage)
    assert.deepEqual(telling[0]?.choices, [])
    assert.equal("estimated" in (telling[0]?.usage ?? {}), usage === "none")
    first.next({ usage })
    const silent = await eventsOf(await chat({ stream: true }))
    assert.ok(
      silent.every(data => !/"usage":\{/.test(data)),
      usage,
    )
    assert.equal(textOf(silent), TEXT)
  }
})

test("a stream that fails before its first words is answered by the next upstream, whatever the failure", async t => {
  const { first, second, chat } = await aiWorld(t)
  const failures = [
    { status: 500 },
    { dropAfter: 0 },
    { errorAfter: { chunks: 0, code: 503, message: "overloaded" } },
    { headers: { "content-type": "text/html" }, body: "<html>" },
    { headers: { "content-type": "application/json" }, body: '{"error":{"message":"no"}}' },
    { text: "", without: "finish" as const },
  ]
  for (const [at, failure] of failures.entries()) {
    first.next(failure)
    const response = await chat({ stream: true })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get("x-svc-provider"), "second", `failure ${at}`)
    assert.equal(response.headers.get("x-svc-attempts"), "2")
    assert.equal(response.headers.get("x-svc-fallback"), "true")
    assert.equal(textOf(await eventsOf(response)), TEXT)
    assert.equal(second.asked.length, at + 1)
    // What failed before is another test's matter.
    await chat({ model: "first/gpt-test" })
    await chat({ model: "first/gpt-test" })
  }
})

test("a stream that fails after its first words ends with an error and never goes on elsewhere", async t => {
  const { first, second, chat } = await aiWorld(t)
  const failures = [
    { dropAfter: 3 },
    { errorAfter: { chunks: 3, code: 500, message: "out of memory" } },
    { text: "one two three", without: "finish" as const },
  ]
  for (const failure of failures) {
    first.next(failure)
    const response = await chat({ stream: true })
    assert.equal(response.status, 200)
    const events = await eventsOf(response)
    assert.equal(
      textOf(events.slice(0, 4)).startsWith("The quick brown") || textOf(events) === "one two three",
      true,
    )
    const last = JSON.parse(events.at(-1) ?? "") as {
      error: { message: string }
      request_id: string
      code: string
    }
    assert.ok(last.error.message)
    assert.equal(last.code, "upstream_error")
    assert.equal(last.request_id, response.headers.get("x-request-id"))
    assert.ok(!events.includes("[DONE]"))
  }
  assert.equal(second.asked.length, 0)
})

test("a stream without [DONE] whose choices finished is whole", async t => {
  const { first, chat } = await aiWorld(t)
  first.next({ without: "done" })
  const events = await eventsOf(await chat({ stream: true }))
  assert.equal(textOf(events), TEXT)
  assert.equal(events.at(-1), "[DONE]")
})

test("nothing is sent before the first words, and comments keep the stream alive after them", async t => {
  const { p, first, chat } = await aiWorld(t)
  const words = Promise.withResolvers<void>()
  const rest = Promise.withResolvers<void>()
  first.next({ before: words.promise, holdAfter: { chunks: 2, until: rest.promise } })
  let isAnswered = false
  const answering = chat({ stream: true }).then(response => {
    isAnswered = true
    return response
  })
  await eventually("the upstream is asked", () => first.asked.length === 1)
  await p.clock.advance(20_000)
  assert.equal(isAnswered, false)
  words.resolve()
  const response = await answering
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(reader)
  let text = ""
  const readUntil = async (part: string) => {
    while (!text.includes(part)) {
      const { value, done } = await reader.read()
      assert.ok(!done, text)
      text += value
    }
  }
  await readUntil("quick")
  await p.clock.advance(15_000)
  await p.clock.advance(15_000)
  await readUntil(": keep-alive")
  rest.resolve()
  await readUntil("[DONE]")
  assert.ok(text.indexOf("The ") < text.indexOf(": keep-alive"))
})

test("the upstream is let go when the caller goes away", async t => {
  const { first, chat } = await aiWorld(t)
  const never = new Promise(() => undefined)
  for (const behaviour of [{ before: never }, { holdAfter: { chunks: 2, until: never } }]) {
    first.next(behaviour)
    for (const stream of [true, false]) {
      const abort = new AbortController()
      first.next(stream ? behaviour : { before: never })
      const before = first.asked.length
      const answering = chat({ stream }, { signal: abort.signal } as RequestInit).then(
        response => response.text(),
        () => undefined,
      )
      await eventually("the upstream is asked", () => first.asked.length === before + 1)
      abort.abort()
      await answering.catch(() => undefined)
      await first.asked[before]?.closed
    }
  }
})
