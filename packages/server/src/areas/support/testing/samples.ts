/** Valid inputs of the operations of support, for the tests that hold for every operation. */
import type { Sample, SampleWorld, Unsampled } from "../../../testing/sample-world.ts"

const newTicket = async ({ key }: SampleWorld) => {
  const { id } = await key.support.createTicket({ subject: "Help", description: "It does not work." })
  return { id }
}

const newChat = async ({ key }: SampleWorld) => ({
  id: (await key.support.createChat({ message: "Hello?" })).id,
})

export const samples = {
  "support.createTicket": async () => ({ subject: "Help", description: "It does not work." }),
  "support.getTicket": newTicket,
  "support.updateTicket": async world => ({ ...(await newTicket(world)), priority: "high" }),
  "support.closeTicket": newTicket,
  "support.listComments": newTicket,
  "support.addComment": async world => ({ ...(await newTicket(world)), body: "Still not." }),
  "support.createChat": async () => ({ message: "Hello?" }),
  "support.getChat": newChat,
  "support.closeChat": newChat,
  "support.readChat": newChat,
  "support.listMessages": newChat,
  "support.postMessage": async world => ({ ...(await newChat(world)), content: "Anybody?" }),
  "support.streamChat": newChat,
} satisfies Readonly<Record<string, Sample>>

export const unsampled = {
  "support.agentUpdateTicket": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentAddComment": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentUpdateChat": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentReadChat": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentPostMessage": "is the operator's alone; areas/support/agents.test.ts has it",
} satisfies Unsampled
