/** The state of an operation's form: what is typed, what it is as input, and the request that runs. */
import { useEffect, useMemo, useRef, useState } from "react"
import { problemOf, type Received, send } from "../calls.ts"
import type { Details, OperationRow } from "../model.ts"
import { setQuery } from "../router.ts"
import { type Input, requestOf, type Surroundings } from "./request.ts"
import { missingFields, NotReadable, readInput, type Typed } from "./values.ts"

/** Fields that the address names, as `f.<name>`. */
export const typedInAddress = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries(
    [...query].flatMap(([name, value]) => (name.startsWith("f.") ? [[name.slice(2), value]] : [])),
  )

/** Ids of where the person is, which nobody wants to type. */
export const placesOf = ({ organization, project }: Surroundings): Record<string, string | undefined> => ({
  tenant_id: organization,
  org_id: organization,
  organization_id: organization,
  project_id: project,
})

const initialTyped = (details: Details, query: URLSearchParams, surroundings: Surroundings): Typed => {
  const places = placesOf(surroundings)
  const inPath = Object.keys(details.params?.properties ?? {}).flatMap(name => {
    const place = places[name]
    return place === undefined ? [] : [[name, place] as const]
  })
  return { ...Object.fromEntries(inPath), ...typedInAddress(query) }
}

export const wrongFields = (received: Received | undefined): Readonly<Record<string, string>> => {
  const problem = received && problemOf(received)
  return Object.fromEntries(
    (problem?.errors ?? []).map(({ location = "", message = "" }) => [
      location.replace(/^(path|query|body|header)\./, "").split(/[.[/]/)[0] ?? "",
      message,
    ]),
  )
}

/** What the form holds as input; what it cannot be, if it cannot. */
const inputOf = (details: Details, typed: Typed, file: File | undefined, credential: string) => {
  try {
    const input: Input = { fields: readInput(details, typed), file, credential: credential || undefined }
    return { input, wrong: {} as Record<string, string> }
  } catch (error) {
    if (!(error instanceof NotReadable)) throw error
    return { input: undefined, wrong: { [error.field]: error.message } as Record<string, string> }
  }
}

export interface PageProps {
  readonly operation: OperationRow
  readonly details: Details
  readonly query: URLSearchParams
  readonly surroundings: Surroundings
}

export interface Run {
  readonly isRunning: boolean
  readonly received?: Received
  readonly streamed?: string
  readonly failure?: string
}

const useRun = () => {
  const [run, setRun] = useState<Run>({ isRunning: false })
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const start = async (sent: ReturnType<typeof requestOf>) => {
    abort.current?.abort()
    const own = new AbortController()
    abort.current = own
    setRun(known => ({ ...known, isRunning: true }))
    try {
      const received = await send(sent, {
        signal: own.signal,
        onText: streamed => setRun({ isRunning: true, streamed }),
      })
      if (!own.signal.aborted) setRun({ isRunning: false, received })
    } catch (error) {
      if (own.signal.aborted) return setRun({ isRunning: false })
      setRun({ isRunning: false, failure: `The platform did not answer: ${String(error)}` })
    }
  }
  return { run, start, stop: () => abort.current?.abort() }
}

/** Protocols that this page cannot speak. */
export const unspoken = ({ envelope, replies, subprotocol }: Details): string | undefined => {
  if (envelope === "s3") return "Clients of S3 call this, and sign it with an access key."
  if (envelope === "page") return "This is a page of its own, which a browser is sent to."
  if (replies === "websocket")
    return `This opens a WebSocket${subprotocol ? ` with the subprotocol ${subprotocol}` : ""}. A client of that protocol calls it.`
  return undefined
}

/** The form's state, and what it does when it is sent. */
export const useForm = ({ operation, details, query, surroundings }: PageProps) => {
  const [typed, setTyped] = useState<Typed>(() => initialTyped(details, query, surroundings))
  const [file, setFile] = useState<File>()
  const [credential, setCredential] = useState("")
  const { run, start, stop } = useRun()
  const { input, wrong } = useMemo(
    () => inputOf(details, typed, file, credential),
    [details, typed, file, credential],
  )
  const inAddress = JSON.stringify(typedInAddress(query))
  const isRead = operation.method === "GET" && unspoken(details) === undefined
  const { organization, project } = surroundings

  // A page that only reads shows what its address says, as soon as it says enough.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address and where the person is say what is read
  useEffect(() => {
    const known = { ...initialTyped(details, query, surroundings) }
    setTyped(before => ({ ...before, ...known }))
    const ready = inputOf(details, { ...typed, ...known }, undefined, credential).input
    if (!isRead || !ready || missingFields(details, ready.fields).length > 0) return
    if (operation.caller === "k" || operation.caller === "u") return
    void start(requestOf(operation, details, ready, surroundings))
  }, [inAddress, organization, project])

  const submit = () => {
    if (!input) return
    if (isRead) {
      const told = Object.entries(typed).filter(([, value]) => typeof value === "string")
      const next = JSON.stringify(Object.fromEntries(told.filter(([, value]) => value !== "")))
      const wanted = Object.fromEntries(
        told.map(([name, value]) => [`f.${name}`, value === "" ? null : String(value)]),
      )
      const places = Object.keys(placesOf(surroundings))
      setQuery(
        Object.fromEntries(
          Object.entries(wanted).filter(([name]) => !places.includes(name.slice(2)) || query.has(name)),
        ),
      )
      if (next !== inAddress) void start(requestOf(operation, details, input, surroundings))
      return
    }
    void start(requestOf(operation, details, input, surroundings))
  }
  return { typed, setTyped, setFile, credential, setCredential, run, stop, input, wrong, submit }
}
