/** The page of one operation, computed from its declaration. */
import { type FormEvent, useMemo, useState } from "react"
import type { Details, OperationRow } from "../model.ts"
import { href } from "../router.ts"
import type { Session } from "../session.ts"
import { useLoaded } from "../ui/load.ts"
import { Modal } from "../ui/modal.tsx"
import { Prose } from "../ui/text.tsx"
import { FieldRow } from "./control.tsx"
import {
  type PageProps,
  placesOf,
  type Run,
  typedInAddress,
  unspoken,
  useForm,
  wrongFields,
} from "./form-state.ts"
import { titleOf } from "./labels.ts"
import { loadDetails, relatedOperations } from "./manifest.ts"
import { requestOf } from "./request.ts"
import { Result } from "./result.tsx"
import { Snippets } from "./snippets.tsx"
import { type Field, fieldsOf, type Typed, typedOf } from "./values.ts"

const verbOf = ({ summary }: OperationRow): string => /^\w+/.exec(summary)?.[0] ?? "Send"

const CREDENTIALS: Readonly<Record<string, string>> = {
  k: "Publishable key",
  u: "Access token of a user of your application",
}

const Confirm = ({
  operation,
  path,
  onNo,
  onYes,
}: {
  readonly operation: OperationRow
  readonly path: string
  readonly onNo: () => void
  readonly onYes: () => void
}) => (
  <Modal label="Confirm" onClose={onNo}>
    <h2>{titleOf(operation.summary)}?</h2>
    <p>This may not be undone.</p>
    <p>
      <code>
        {operation.method} {path}
      </code>
    </p>
    <p className="buttons">
      <button type="button" className="danger" onClick={onYes}>
        {verbOf(operation)}
      </button>
      <button type="button" className="quiet" onClick={onNo}>
        Cancel
      </button>
    </p>
  </Modal>
)

const Fields = ({
  fields,
  typed,
  wrong,
  onChange,
}: {
  readonly fields: readonly Field[]
  readonly typed: Typed
  readonly wrong: Readonly<Record<string, string>>
  readonly onChange: (typed: Typed) => void
}) => (
  <div className="fields">
    {fields.map(field => (
      <FieldRow
        key={`${field.part} ${field.name}`}
        field={field}
        typed={typed[field.name]}
        wrong={wrong[field.name]}
        onChange={value => onChange({ ...typed, [field.name]: value })}
      />
    ))}
  </div>
)

const exampleTyped = (details: Details): Typed =>
  Object.fromEntries(
    fieldsOf(details).flatMap(({ name, schema }) => {
      const value = details.example?.[name]
      return value === undefined ? [] : [[name, typedOf(name, schema, value)] as const]
    }),
  )

const isFile = ({ sends }: Details) => sends === "bytes" || sends === "gzip" || sends === "multipart"

const OperationForm = (props: PageProps) => {
  const { operation, details, surroundings } = props
  const form = useForm(props)
  const { typed, setTyped, run, input } = form
  const [isAsking, setAsking] = useState(false)
  const fields = useMemo(() => fieldsOf(details), [details])
  const wrong = { ...wrongFields(run.received), ...form.wrong }
  const elsewhere = unspoken(details)
  const sent = input && requestOf(operation, details, input, surroundings)

  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (operation.effect === "d") setAsking(true)
    else form.submit()
  }
  const controls = (
    <>
      {CREDENTIALS[operation.caller] && (
        <div className="field">
          <label htmlFor="credential">{CREDENTIALS[operation.caller]}</label>
          <input
            id="credential"
            value={form.credential}
            autoComplete="off"
            onChange={event => form.setCredential(event.target.value)}
          />
          <p className="about">Your session is not sent: this is called by applications of yours.</p>
        </div>
      )}
      <Fields fields={fields} typed={typed} wrong={wrong} onChange={setTyped} />
      {isFile(details) && (
        <div className="field">
          <label htmlFor="file">File</label>
          <input id="file" type="file" onChange={event => form.setFile(event.target.files?.[0])} />
        </div>
      )}
    </>
  )
  const buttons = elsewhere === undefined && (
    <p className="buttons">
      <button
        type="submit"
        className={operation.effect === "d" ? "danger" : undefined}
        disabled={run.isRunning}
      >
        {run.isRunning ? "Running …" : verbOf(operation)}
      </button>
      {run.isRunning && (
        <button type="button" className="quiet" onClick={form.stop}>
          Stop
        </button>
      )}
      {details.example && (
        <button
          type="button"
          className="quiet"
          onClick={() => setTyped({ ...typed, ...exampleTyped(details) })}
        >
          Fill in an example
        </button>
      )}
    </p>
  )
  const optional = fields.every(({ isRequired, name }) => !isRequired || name in placesOf(surroundings))
  return (
    <>
      {elsewhere !== undefined && <p className="notice">{elsewhere}</p>}
      {details.risk && (
        <p className="notice">
          A key that requires approval waits here until a person agrees; you act at once.
        </p>
      )}
      <form onSubmit={onSubmit} aria-label={titleOf(operation.summary)}>
        {operation.isList && optional && fields.length > 0 ? (
          <details className="filters">
            <summary>Fields and filters</summary>
            {controls}
            {buttons}
          </details>
        ) : (
          <>
            {controls}
            {buttons}
          </>
        )}
      </form>
      <Outcome run={run} details={details} operation={operation} />
      {sent && input && <Snippets {...{ sent, input, operation, details }} />}
      {isAsking && sent && (
        <Confirm
          operation={operation}
          path={sent.path}
          onNo={() => setAsking(false)}
          onYes={() => {
            setAsking(false)
            form.submit()
          }}
        />
      )}
    </>
  )
}

const Outcome = ({
  run,
  details,
  operation,
}: {
  readonly run: Run
  readonly details: Details
  readonly operation: OperationRow
}) => (
  <section className="outcome" aria-label="Result" aria-live="polite" aria-busy={run.isRunning}>
    {run.isRunning && !run.received && run.streamed === undefined && <p className="soft">Loading …</p>}
    {run.streamed !== undefined && !run.received && <pre className="stream">{run.streamed}</pre>}
    {run.failure && <p className="notice bad">{run.failure}</p>}
    {run.received && <Result received={run.received} details={details} operation={operation} />}
  </section>
)

const Related = ({
  operation,
  query,
}: {
  readonly operation: OperationRow
  readonly query: URLSearchParams
}) => {
  const others = relatedOperations(operation)
  if (others.length === 0) return null
  const given = Object.fromEntries(
    Object.entries(typedInAddress(query)).flatMap(([name, value]) =>
      operation.path.includes(`{${name}}`) ? [[`f.${name}`, value] as const] : [],
    ),
  )
  return (
    <section className="related" aria-label="Related">
      <h2>Related</h2>
      <ul>
        {others.map(other => (
          <li key={other.id}>
            <a href={href(`api/${other.id}`, given)}>
              <span className={`method ${other.effect}`}>{other.method}</span> {titleOf(other.summary)}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

const Head = ({ operation, details }: { readonly operation: OperationRow; readonly details?: Details }) => (
  <>
    <p className="path">
      <span className={`method ${operation.effect}`}>{operation.method}</span> <code>{operation.path}</code>
    </p>
    {details?.description && (
      <p className="lead">
        <Prose text={details.description} />
      </p>
    )}
    {details?.scopes && (
      <p className="soft small">
        A key needs <code>{details.scopes.join(" or ")}</code>
      </p>
    )}
  </>
)

export const OperationPage = ({
  operation,
  query,
  session,
  project,
}: {
  readonly operation: OperationRow
  readonly query: URLSearchParams
  readonly session: Session
  readonly project: string | undefined
}) => {
  const details = useLoaded(operation.id, () => loadDetails(operation))
  const surroundings = { organization: session.organization.id, project }
  const value = details.state === "ready" ? details.value : undefined
  return (
    <>
      <h1>{titleOf(operation.summary)}</h1>
      {titleOf(operation.summary) !== operation.summary.replaceAll("`", "") && (
        <p className="lead">
          <Prose text={operation.summary} />
        </p>
      )}
      <Head operation={operation} {...(value ? { details: value } : {})} />
      {details.state === "loading" && <p className="soft">Loading …</p>}
      {details.state === "failed" && (
        <p className="notice bad" role="alert">
          {details.reason}
        </p>
      )}
      {value && (
        <OperationForm
          key={`${operation.id} ${surroundings.organization}`}
          {...{ operation, query, surroundings, details: value }}
        />
      )}
      <Related operation={operation} query={query} />
    </>
  )
}
