/** Every push service has its driver; which one a message needs, its target says. */
import type { Clock } from "../../kernel/clock.ts"
import { openApns } from "./drivers/apns/driver.ts"
import { createFcm } from "./drivers/fcm/driver.ts"
import { createWebPush } from "./drivers/webpush/driver.ts"
import type { PushConnect, PushFetch, PushPort } from "./port.ts"

export interface PushOptions {
  readonly fetch: PushFetch
  readonly connect: PushConnect
  readonly clock: Clock
}

export const openPush = ({ fetch, connect, clock }: PushOptions): PushPort => {
  const webpush = createWebPush({ fetch, clock })
  const fcm = createFcm({ fetch, clock })
  const apns = openApns({ connect, clock })
  return {
    send(push, signal) {
      switch (push.provider) {
        case "webpush":
          return webpush(push, signal)
        case "fcm":
          return fcm(push, signal)
        case "apns":
          return apns.send(push, signal)
      }
    },
    async [Symbol.asyncDispose]() {
      apns[Symbol.dispose]()
    },
  }
}
