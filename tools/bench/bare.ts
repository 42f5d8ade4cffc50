/** The least that a JSON API on Node can be: parse, look, answer. What the platform's own figures are held against. */
import { createServer } from "node:http"

createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on("data", chunk => chunks.push(chunk))
  request.on("end", () => {
    const { key } = JSON.parse(Buffer.concat(chunks).toString()) as { key: string }
    const text = JSON.stringify({ value: key })
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    response.end(text)
  })
}).listen(Number(process.argv[2]), "127.0.0.1")
