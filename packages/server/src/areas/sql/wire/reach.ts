/** From a branch's name to a connection to its server. */
import type { Socket } from "node:net"
import type { WireOpenRequest, WireTarget } from "./messages.ts"
import { connectUpstream } from "./upstream.ts"

export interface ReachHost {
  readonly open: (request: WireOpenRequest) => Promise<WireTarget>
}

/** Opens the branch and a connection to it. */
export const reach = async (
  host: ReachHost,
  request: WireOpenRequest,
  admit: (target: WireTarget) => void,
): Promise<{ target: WireTarget; upstream: Socket }> => {
  const target = await host.open(request)
  admit(target)
  try {
    return { target, upstream: await connectUpstream(target) }
  } catch {
    // It may have gone to sleep between the answer and the connection; asked again it wakes.
    const again = await host.open(request)
    return { target: again, upstream: await connectUpstream(again) }
  }
}
