/** Made at every start; nothing in it is dropped or changed once it exists. */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS users (
  user_id       TEXT PRIMARY KEY,
  display_name  TEXT NOT NULL,
  avatar_url    TEXT,
  status        TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS conversations (
  conversation_id  TEXT PRIMARY KEY,
  type             TEXT NOT NULL CHECK (type IN ('direct', 'group')),
  title            TEXT,
  avatar_url       TEXT,
  direct_pair      TEXT UNIQUE,               -- both ids in order: two people have one direct dialog
  last_seq         INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE IF NOT EXISTS members (
  conversation_id  TEXT NOT NULL REFERENCES conversations,
  user_id          TEXT NOT NULL REFERENCES users,
  PRIMARY KEY (conversation_id, user_id)
) STRICT;
CREATE INDEX IF NOT EXISTS members_by_user ON members (user_id, conversation_id);

CREATE TABLE IF NOT EXISTS messages (
  message_id       TEXT PRIMARY KEY,
  event_id         TEXT NOT NULL,
  conversation_id  TEXT NOT NULL REFERENCES conversations,
  seq              INTEGER NOT NULL,
  sender_id        TEXT NOT NULL,
  text             TEXT NOT NULL,
  client_id        TEXT,                      -- the sender's own id: a repeated POST is the same message
  sent_at_ms       INTEGER NOT NULL,
  edited_at_ms     INTEGER,
  deleted_at_ms    INTEGER,
  UNIQUE (conversation_id, seq),
  UNIQUE (conversation_id, sender_id, client_id)
) STRICT;

CREATE TABLE IF NOT EXISTS reactions (
  message_id  TEXT NOT NULL REFERENCES messages,
  user_id     TEXT NOT NULL,
  emoji       TEXT NOT NULL,
  PRIMARY KEY (message_id, user_id, emoji)
) STRICT;

CREATE TABLE IF NOT EXISTS receipts (
  conversation_id  TEXT NOT NULL REFERENCES conversations,
  user_id          TEXT NOT NULL,
  kind             TEXT NOT NULL CHECK (kind IN ('delivered', 'read')),
  seq              INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, user_id, kind)
) STRICT;

-- Everything that happened other than message.new, newest state per subject: what a sync returns to clients that missed it.
CREATE TABLE IF NOT EXISTS changes (
  position         INTEGER PRIMARY KEY AUTOINCREMENT,
  subject          TEXT NOT NULL UNIQUE,
  event_id         TEXT NOT NULL,
  type             TEXT NOT NULL,
  conversation_id  TEXT NOT NULL,
  about_seq        INTEGER,                   -- the message that it is about, if it is about one
  about_user_id    TEXT,                      -- the member that it is about, if it is about one
  payload          TEXT NOT NULL,
  occurred_at_ms   INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS changes_by_conversation ON changes (conversation_id, position);
CREATE INDEX IF NOT EXISTS changes_by_user ON changes (about_user_id) WHERE about_user_id IS NOT NULL;

-- Written in the transaction of what it tells; put on the bus in this order, at least once.
CREATE TABLE IF NOT EXISTS outbox (
  position    INTEGER PRIMARY KEY AUTOINCREMENT,
  outgoing    TEXT NOT NULL,
  sent_at_ms  INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS outbox_unsent ON outbox (position) WHERE sent_at_ms IS NULL;

-- The plan of a sync that takes several pages. Immutable: a page that is asked for twice is the same page.
CREATE TABLE IF NOT EXISTS sync_walks (
  walk_id        TEXT PRIMARY KEY,
  user_id        TEXT NOT NULL,
  plan           TEXT NOT NULL,
  started_at_ms  INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS signing_keys (
  kid            TEXT PRIMARY KEY,
  private_jwk    TEXT NOT NULL,
  public_jwk     TEXT NOT NULL,
  created_at_ms  INTEGER NOT NULL,
  retired_at_ms  INTEGER
) STRICT;
`;
