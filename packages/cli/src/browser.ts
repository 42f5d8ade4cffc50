/** The browser of this machine, and the address on it where it brings the answer. */
import { spawn } from "node:child_process"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Terminal } from "./terminal.ts"

type Command = readonly [program: string, ...words: string[]]

/** How a page is opened here; undefined where there is nobody to look at it. */
export const browserOf = (
  { BROWSER, DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION }: Terminal["env"],
  platform: NodeJS.Platform = process.platform,
): Command | undefined => {
  if (BROWSER) return [BROWSER]
  if (platform === "darwin") return SSH_CONNECTION ? undefined : ["open"]
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"]
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined
}

/** The address is a word of its own, which no shell reads. */
export const openBrowser = ([program, ...words]: Command, url: string): void => {
  const child = spawn(program, [...words, url], { stdio: "ignore", detached: true })
  // The address is printed too, so a person can open it by hand.
  child.on("error", () => undefined)
  child.unref()
}

const PATH = "/callback"

const page = (text: string) =>
  `<!doctype html><meta charset="utf-8"><title>svc</title><p style="font:1.1rem system-ui;margin:3rem">${text}</p>`

/** Listens on a loopback address for the one answer of the browser. */
export const awaitAnswer = async () => {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>()
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "", "http://127.0.0.1")
    const isAnswer = request.method === "GET" && url.pathname === PATH
    response.writeHead(isAnswer ? 200 : 404, {
      "content-type": "text/html; charset=utf-8",
      connection: "close",
    })
    response.end(
      page(isAnswer ? "The command line has its answer. You can close this page." : "Nothing is here."),
    )
    if (isAnswer) resolve(url.searchParams)
  }
  const server = createServer(answer)
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening))
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    answer: promise,
    [Symbol.dispose]: () => {
      server.close()
      server.closeIdleConnections()
    },
  }
}
