/** Programs that answer under names which are not the platform's, such as custom domains. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import type { HostGate } from "../../kernel/edges/host-gate.ts"
import type { ServiceHost, ServiceUrls } from "./urls.ts"

export interface OtherNames {
  /** Which program a request is for; undefined where it is for none. */
  hostOf(request: IncomingMessage): ServiceHost | undefined
  /** Has the program of a label answer a request, whatever its host name is. */
  answer(
    gate: HostGate,
    label: string,
    asked: {
      readonly request: IncomingMessage
      readonly response: ServerResponse
      readonly address: string
      readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer }
    },
  ): void
}

export const createOtherNames = (urls: Pick<ServiceUrls, "read"> | undefined): OtherNames => {
  const labels = new WeakMap<IncomingMessage, string>()
  return {
    hostOf(request) {
      const label = labels.get(request)
      return label === undefined ? urls?.read(request.headers.host ?? "") : { label, tag: undefined }
    },
    answer(gate, label, { request, response, address, upgrade }) {
      labels.set(request, label)
      if (upgrade) gate.upgrade(request, upgrade.socket, upgrade.head, address)
      else gate.serve(request, response, address)
    },
  }
}
