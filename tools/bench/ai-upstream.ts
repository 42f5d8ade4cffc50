/** A model server that answers at once: `node tools/bench/ai-upstream.ts PORT`. Streams have as many words as `max_tokens`, 20 ms apart. */
import { createServer, type ServerResponse } from "node:http"
import { setTimeout as delay } from "node:timers/promises"

const PACE_MS = 20

const REPLY = JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "bench",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "word ".repeat(100) },
      finish_reason: "stop",
      logprobs: null,
    },
  ],
  usage: { prompt_tokens: 20, completion_tokens: 100, total_tokens: 120 },
})

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "bench",
    choices: [{ index: 0, delta, finish_reason }],
  })}\n\n`

const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 64, total_tokens: 84 } })}\n\n`

const stream = async (response: ServerResponse, words: number) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  for (let n = 0; n < words && !response.destroyed; n++) {
    if (n > 0) await delay(PACE_MS)
    response.write(chunk({ content: "word " }))
  }
  response.end(`${chunk({}, "stop")}${USAGE}data: [DONE]\n\n`)
}

createServer((request, response) => {
  if (request.method === "GET") return void response.end()
  const chunks: Buffer[] = []
  request.on("data", part => chunks.push(part))
  request.on("end", () => {
    const { stream: isStreamed, max_tokens } = JSON.parse(Buffer.concat(chunks).toString()) as {
      stream?: boolean
      max_tokens?: number
    }
    if (isStreamed) return void stream(response, max_tokens ?? 1)
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(REPLY),
    })
    response.end(REPLY)
  })
}).listen(Number(process.argv[2]), "127.0.0.1")
