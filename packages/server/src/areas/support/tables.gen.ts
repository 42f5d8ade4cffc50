// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "support.chats": {
      id: string
      organization_id: string
      status: string
      subject: string | null
      contact_id: string
      contact_name: string
      contact_email: string | null
      assignee_id: string | null
      customer_unread: number
      agent_unread: number
      message_count: number
      last_message_at: Date | null
      created_at: Date
      updated_at: Date
    }
    "support.comments": {
      id: string
      organization_id: string
      ticket_id: string
      author_type: string
      author_id: string
      author_name: string
      body: string
      internal: boolean
      source: string
      mail_id: string | null
      created_at: Date
    }
    "support.messages": {
      organization_id: string
      session_id: string
      sequence: number
      id: string
      direction: string
      author_id: string
      author_name: string
      content: string
      content_type: string
      client_message_id: string | null
      read_at: Date | null
      created_at: Date
    }
    "support.tickets": {
      id: string
      organization_id: string
      number: number
      subject: string
      description: string
      status: string
      priority: string
      category: string | null
      tags: string[]
      requester_id: string
      requester_name: string
      requester_email: string | null
      assignee_id: string | null
      session_id: string | null
      comment_count: number
      note_count: number
      reply_key: Buffer
      first_response_at: Date | null
      last_comment_at: Date | null
      resolved_at: Date | null
      closed_at: Date | null
      created_at: Date
      updated_at: Date
    }
  }
}
