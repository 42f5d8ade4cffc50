import type { ServerResponse } from "node:http"

/** What a proxy itself answers. */
export interface Refusal {
  readonly status: number
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Ends the response and, as bytes of the request may still come, its connection. */
export const refuse = (response: ServerResponse, { status, text, headers = {} }: Refusal): void => {
  if (response.headersSent) return void response.destroy()
  const body = `${text}\n`
  response
    .writeHead(status, {
      "content-type": "text/plain; charset=utf-8",
      ...headers,
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
      connection: "close",
    })
    .end(body)
}
