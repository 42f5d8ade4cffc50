/** Valid inputs of email's operations, for the tests that hold for every operation. */
import type { Sample, Unsampled } from "../../../testing/sample-world.ts"
import { emailDeliverySamples } from "./delivery-samples.ts"
import { emailSendingSamples } from "./sending-samples.ts"

export const samples: Readonly<Record<string, Sample>> = { ...emailSendingSamples, ...emailDeliverySamples }

export const unsampled = {
  "email.unsubscribe": "public: areas/email/tracking/tracking.test.ts has it",
} satisfies Unsampled
