/** Operations called by name, for the screens that were made by hand: what is sent is made of the declaration, as in a form. */
import { type Problem, problemOf, type Received, type SendOptions, send } from "./calls.ts"
import { loadDetails, operationOf } from "./derived/manifest.ts"
import { requestOf, type Surroundings } from "./derived/request.ts"
import { payloadOf } from "./derived/result.tsx"

export type Fields = Readonly<Record<string, unknown>>

/** The platform said no, and why. */
export class Refused extends Error {
  readonly problem: Problem & { readonly details?: Readonly<Record<string, unknown>> }
  constructor(received: Received) {
    const problem = problemOf(received) ?? { code: String(received.status), error: "The call failed." }
    super(problem.error)
    this.problem = problem
  }
}

/** A call that waits for somebody's approval is neither done nor refused. */
const refusedOr = (received: Received): Received => {
  if (received.status >= 400) throw new Refused(received)
  return received
}

const sentOf = async (id: string, fields: Fields, surroundings: Surroundings, file?: Blob) => {
  const operation = operationOf(id)
  if (!operation) throw new Error(`This installation has no operation ${id}.`)
  const details = await loadDetails(operation)
  return { details, sent: requestOf(operation, details, { fields, file }, surroundings) }
}

/** Calls it as the signed-in person does; the payload without its envelope. Throws Refused. */
export const call = async <Payload>(
  id: string,
  fields: Fields,
  surroundings: Surroundings,
  options: SendOptions & { readonly file?: Blob } = {},
): Promise<Payload> => {
  const { details, sent } = await sentOf(id, fields, surroundings, options.file)
  return payloadOf(refusedOr(await send(sent, options)), details) as Payload
}

/** The same where the reply is bytes. */
export const callRaw = async (
  id: string,
  fields: Fields,
  surroundings: Surroundings,
  options: SendOptions = {},
): Promise<Received> => refusedOr(await send((await sentOf(id, fields, surroundings)).sent, options))

/** The request itself, for what shows its progress. */
export const requestFor = async (id: string, fields: Fields, surroundings: Surroundings, file?: Blob) =>
  (await sentOf(id, fields, surroundings, file)).sent
