/** Mails that were caught and not sent, as a mailbox. */
import { call } from "../../api.ts"
import { href, setQuery } from "../../router.ts"
import { useAgain } from "../../ui/again.ts"
import { Problem } from "../../ui/problem.tsx"
import { Time } from "../../ui/value.tsx"
import type { ScreenProps } from "../props.ts"
import { Message } from "./message.tsx"

interface Item {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly captured_at: string
}

interface Listed {
  readonly data: readonly Item[]
  readonly total: number
}

const REFRESH_MS = 5_000
const PAGE = 50

const List = ({
  items,
  shown,
  to,
}: {
  readonly items: readonly Item[]
  readonly shown: string | undefined
  readonly to: string
}) => (
  <ul className="mails" aria-label="Mails">
    {items.map(({ id, subject, to: recipient, captured_at }) => (
      <li key={id}>
        <a
          href={href("mailbox", { ...(to && { to }), mail: id })}
          aria-current={id === shown ? "true" : undefined}
        >
          <strong>{subject === "" ? "No subject" : subject}</strong>
          <Time time={captured_at} />
          <span className="soft small">{recipient}</span>
        </a>
      </li>
    ))}
  </ul>
)

const Empty = ({ to }: { readonly to: string }) => (
  <div className="empty">
    <p>
      <strong>{to === "" ? "No mail was caught." : `No mail to ${to} was caught.`}</strong> Without{" "}
      <code>SVC_SMTP_URL</code> or <code>SVC_MAIL_DIRECT</code> an installation sends nothing: what your
      programs send arrives here.
    </p>
    <p>
      {to === "" ? (
        <a href={href("api/sendRawEmail")}>Send a mail</a>
      ) : (
        <button type="button" className="quiet" onClick={() => setQuery({ to: null })}>
          Show all
        </button>
      )}
    </p>
  </div>
)

export const MailboxPage = ({ surroundings, query }: ScreenProps) => {
  const to = query.get("to") ?? ""
  const { value, error, reload } = useAgain(
    `inbox ${to}`,
    () => call<Listed>("listEmailInbox", { limit: PAGE, ...(to && { to }) }, surroundings, { quiet: true }),
    REFRESH_MS,
  )
  // Without a choice the newest is open: its address stays right as mails come.
  const shown = query.get("mail") ?? value?.data[0]?.id
  return (
    <>
      <div className="head">
        <h1>Mailbox</h1>
        <input
          className="narrow"
          type="search"
          aria-label="Recipient"
          placeholder="To"
          value={to}
          onChange={event =>
            setQuery({ to: event.target.value === "" ? null : event.target.value, mail: null })
          }
        />
        {value && (
          <span className="soft small number" role="status">
            {value.total.toLocaleString("en")} {value.total === 1 ? "mail" : "mails"}
          </span>
        )}
      </div>
      <Problem error={error} />
      {!value && !error && <p className="soft">Loading …</p>}
      {value && value.data.length === 0 && <Empty to={to} />}
      {value && value.data.length > 0 && (
        <div className="mailbox">
          <List items={value.data} shown={shown} to={to} />
          {shown && (
            <Message
              key={shown}
              id={shown}
              surroundings={surroundings}
              onDeleted={() => {
                setQuery({ mail: null })
                reload()
              }}
            />
          )}
        </div>
      )}
    </>
  )
}
