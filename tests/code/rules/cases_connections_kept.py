"""Connections and clients that are kept, returned once, or no clients at all."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_CONNECTION = "connection-per-call"

CASES: list[Case] = [
    good(
        _CONNECTION,
        "go",
        """
        package store

        import "gorm.io/gorm"

        func openWithRetry(dsn string, tries int) (*gorm.DB, error) {
        	var err error
        	for i := range tries {
        		var db *gorm.DB
        		db, err = gorm.Open(postgres.Open(dsn), &gorm.Config{})
        		if err == nil {
        			return db, nil
        		}
        		time.Sleep(time.Duration(i) * time.Second)
        	}
        	return nil, err
        }
        """,
    ),
    bad(
        _CONNECTION,
        "go",
        """
        package store

        import "gorm.io/gorm"

        func countAll(shards []string) (int64, error) {
        	var total int64
        	for _, dsn := range shards {
        		db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{})
        		if err != nil {
        			return 0, err
        		}
        		total += count(db)
        	}
        	return total, nil
        }
        """,
        8,
    ),
    good(
        _CONNECTION,
        "go",
        """
        package debug

        import "net/http"

        func (h *Handler) ping(w http.ResponseWriter, r *http.Request) {
        	peer := h.peers.find(r.URL.Query().Get("peer"))
        	conn, err := peer.Dial(r.Context(), "tcp", r.URL.Query().Get("address"))
        	if err != nil {
        		http.Error(w, err.Error(), http.StatusBadGateway)
        		return
        	}
        	defer conn.Close()
        	w.WriteHeader(http.StatusNoContent)
        }
        """,
    ),
    bad(
        _CONNECTION,
        "go",
        """
        package debug

        import (
        	"net/http"

        	"github.com/nats-io/nats.go"
        )

        func publish(w http.ResponseWriter, r *http.Request) {
        	conn, err := nats.Connect(address)
        	if err != nil {
        		http.Error(w, err.Error(), http.StatusBadGateway)
        		return
        	}
        	defer conn.Close()
        	conn.Publish("orders", body(r))
        }
        """,
        10,
    ),
    good(
        _CONNECTION,
        "go",
        """
        package upload

        import "github.com/aws/aws-sdk-go-v2/service/s3"

        func addRoutes(mux *http.ServeMux, settings aws.Config) {
        	client := s3.NewFromConfig(settings)
        	links := &linkHandler{signer: s3.NewPresignClient(client)}
        	mux.HandleFunc("/links", links.serve)
        }
        """,
    ),
    bad(
        _CONNECTION,
        "go",
        """
        package upload

        import ("github.com/aws/aws-sdk-go-v2/config"; "github.com/aws/aws-sdk-go-v2/service/s3")

        func (l *links) sign(ctx context.Context, key string) (string, error) {
        	settings, _ := config.LoadDefaultConfig(ctx)
        	client := s3.NewFromConfig(settings)
        	signer := s3.NewPresignClient(client)
        	signed, err := signer.PresignGetObject(ctx, &s3.GetObjectInput{Key: &key})
        	if err != nil {
        		return "", err
        	}
        	return signed.URL, nil
        }
        """,
        7,
    ),
    good(
        _CONNECTION,
        "javascript",
        """
        const { MongoClient } = require("mongodb");

        class Files {
          open() {
            if (!this.opening) {
              this.opening = MongoClient.connect(this.url).then((client) => client.db());
            }
            return this.opening;
          }

          async removeAll(names) {
            for (const name of names) {
              await (await this.open()).collection("files").deleteOne({ name });
            }
          }
        }
        """,
    ),
]
