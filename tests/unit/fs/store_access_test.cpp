// Who can read a store, and whose files it touches: its owner, and its own.

#include "base/files.hpp"
#include "providers/fs/fs_provider.hpp"
#include "providers/fs/repair/repair.hpp"
#include "providers/fs/views/views.hpp"
#include "unit/fs/finished_instance.hpp"
#include "unit/fs/temporary_directory.hpp"

#include <durable/fs.hpp>
#include <durable/testing.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace durable::fs {
namespace {

// The umask of the process, for as long as this lives.
class Umask {
 public:
    explicit Umask(mode_t mask) : before_{::umask(mask)} {}
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;
    ~Umask() { ::umask(before_); }

 private:
    mode_t before_;
};

class StoreAccessTest : public ::testing::Test {
 protected:
    [[nodiscard]] std::string path(const std::string& name) const {
        return directory_.path() + "/" + name;
    }

    [[nodiscard]] std::shared_ptr<FsProvider> open_store(const std::string& name,
                                                         StoreAccess access = StoreAccess::owner) {
        return FsProvider::open(path(name),
                                {.readable_views = true,
                                 .access = access,
                                 .logger = text_logger(log_, LogLevel::warn)},
                                {.threads = false, .pack_bytes = 0, .most_copies = 0})
            .value();
    }
    // A store with something in every part, closed again.
    void make_store(const std::string& name, StoreAccess access = StoreAccess::owner) {
        const auto store = open_store(name, access);
        finish_instance(*store, "order-1");
        keep_house(*store);
        ASSERT_TRUE(store->make_checkpoint());
    }

    static void expect_permissions(const std::string& top, unsigned directories, unsigned files) {
        const auto permissions = [](const std::filesystem::path& of) {
            return static_cast<unsigned>(std::filesystem::status(of).permissions()) & 0777U;
        };
        EXPECT_EQ(permissions(top), directories) << top;
        std::size_t seen = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator{top}) {
            EXPECT_EQ(permissions(entry.path()), entry.is_directory() ? directories : files)
                << entry.path();
            ++seen;
        }
        EXPECT_GT(seen, 10U);
    }

    [[nodiscard]] std::map<std::string, std::string> files_below(const std::string& name) const {
        std::map<std::string, std::string> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator{path(name)}) {
            found[entry.path().string()] =
                entry.is_directory() ? ""
                                     : read_file(system_files(), entry.path().string()).value();
        }
        return found;
    }

    // Why it was refused; nullopt: it was not.
    using Refused = std::optional<ErrorCode>;
    static constexpr Refused done{};
    [[nodiscard]] static Refused repaired(const std::string& store, const std::string& fresh) {
        const auto made = repair(system_files(), store, fresh, ManualClock{}.now());
        return made ? done : Refused{made.error().code};
    }
    [[nodiscard]] static Refused exported(const std::string& store, const std::string& target) {
        const auto made = export_views(system_files(), store, target, {}, ManualClock{}.now());
        return made ? done : Refused{made.error().code};
    }

    const TemporaryDirectory directory_;
    std::ostringstream log_;
};

TEST_F(StoreAccessTest, WhatAStoreMakesIsForItsOwnerAloneWhateverTheUmask) {
    for (const mode_t mask : {0U, 022U, 0277U}) {
        const Umask umask{mask};
        const auto name = "store-" + std::to_string(mask);
        make_store(name);
        expect_permissions(path(name), 0700, 0600);
    }
    EXPECT_EQ(log_.str(), "");
}

TEST_F(StoreAccessTest, OrForItsGroupAsWell) {
    for (const mode_t mask : {0U, 077U}) {
        const Umask umask{mask};
        const auto name = "store-" + std::to_string(mask);
        make_store(name, StoreAccess::group);
        expect_permissions(path(name), 0770, 0660);
    }
    EXPECT_EQ(log_.str(), "");
}

TEST_F(StoreAccessTest, ADirectoryGoesOnHandingItsGroupDown) {
    ASSERT_EQ(::mkdir(path("shared").c_str(), 0700), 0);
    ASSERT_EQ(::chmod(path("shared").c_str(), 02770), 0);

    make_store("shared/store", StoreAccess::group);

    struct stat status{};
    ASSERT_EQ(::stat(path("shared/store/journal").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 02770U);
}

TEST_F(StoreAccessTest, WhatIsExportedAndRepairedIsForItsOwnerAlone) {
    const Umask umask{0};
    make_store("store");

    EXPECT_EQ(exported(path("store"), path("out")), done);
    EXPECT_EQ(repaired(path("store"), path("repaired")), done);

    for (const auto& entry : std::filesystem::recursive_directory_iterator{directory_.path()}) {
        EXPECT_EQ(static_cast<unsigned>(entry.status().permissions()) & 077U, 0U) << entry.path();
    }
}

TEST_F(StoreAccessTest, AStoreThatOthersCanReadStaysAsItIsWithOneWarning) {
    make_store("store");
    ASSERT_EQ(::chmod(path("store").c_str(), 0755), 0);
    ASSERT_EQ(::chmod(path("store/FORMAT").c_str(), 0644), 0);

    (void)open_store("store");

    const auto log = log_.str();
    EXPECT_NE(log.find("every user of this machine can read the store " + path("store") +
                       " or keep it from being opened: its permissions are 755, and "
                       "StoreAccess::owner means 700"),
              std::string::npos)
        << log;
    EXPECT_EQ(log.find('\n'), log.size() - 1) << "one line";
    EXPECT_EQ(system_files().status(path("store"))->permissions, 0755U);
    EXPECT_EQ(system_files().status(path("store/FORMAT"))->permissions, 0644U);
}

TEST_F(StoreAccessTest, AGroupThatMayNotReadTheStoreIsToldOf) {
    make_store("store");
    ASSERT_EQ(::chmod(path("store").c_str(), 0750), 0);
    (void)open_store("store", StoreAccess::group);
    EXPECT_EQ(log_.str(), "");

    (void)open_store("store");

    EXPECT_NE(log_.str().find("the group of the directory can read the store"), std::string::npos)
        << log_.str();
}

TEST_F(StoreAccessTest, ALockThatIsALinkIsRefusedAndItsTargetLeftAlone) {
    ASSERT_TRUE(replace_file(system_files(), path("letter"), "precious"));
    ASSERT_TRUE(make_directories(system_files(), path("store")));
    std::filesystem::create_symlink(path("letter"), path("store/runtime.lock"));

    const auto opened = fs::open(path("store"));

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::storage_failed);
    EXPECT_NE(opened.error().message.find("runtime.lock: it is a symbolic link"), std::string::npos)
        << opened.error().message;
    EXPECT_EQ(read_file(system_files(), path("letter")).value(), "precious");
}

// Whatever file of a store is a link: opening, working and exporting leave its target alone.
TEST_F(StoreAccessTest, NoFileOfAStoreIsALinkThatIsFollowed) {
    make_store("model");
    const auto files = files_below("model");
    std::size_t tried = 0;
    for (const auto& [file, content] : files) {
        if (std::filesystem::is_directory(file)) {
            continue;
        }
        SCOPED_TRACE(file);
        std::filesystem::copy(
            path("model"), path("store"), std::filesystem::copy_options::recursive);
        const auto link = path("store") + file.substr(path("model").size());
        ASSERT_TRUE(replace_file(system_files(), path("letter"), content));
        std::filesystem::remove(link);
        std::filesystem::create_symlink(path("letter"), link);
        {
            const auto store = FsProvider::open(
                path("store"),
                {.readable_views = true, .logger = silent_logger()},
                {.threads = false, .checkpoint_bytes = 0, .pack_bytes = 0, .most_copies = 0});
            if (store) {
                (void)(*store)->delete_instance("order-1", true);
                keep_house(**store);
                (void)(*store)->make_checkpoint();
            }
        }
        EXPECT_EQ(read_file(system_files(), path("letter")).value(), content);
        ++tried;
        ASSERT_TRUE(remove_tree(system_files(), path("store")));
    }
    EXPECT_GT(tried, 5U);
}

TEST_F(StoreAccessTest, AViewIsNotWrittenThroughALink) {
    make_store("store");
    ASSERT_TRUE(make_directories(system_files(), path("theirs")));
    ASSERT_TRUE(remove_tree(system_files(), path("store/instances/order-1")));
    std::filesystem::create_directory_symlink(path("theirs"), path("store/instances/order-1"));

    keep_house(*open_store("store"));

    EXPECT_TRUE(std::filesystem::is_empty(path("theirs")));
    EXPECT_TRUE(std::filesystem::exists(path("store/instances/order-1/meta.json")));
}

TEST_F(StoreAccessTest, RepairAndExportNeverWriteIntoTheStoreTheyRead) {
    make_store("store");
    std::filesystem::create_directory_symlink(path("store"), path("link"));
    std::filesystem::create_directory_symlink(path("store/packs"), path("deep"));
    const auto before = files_below("store");
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(directory_.path());

    struct Case {
        std::string store, target;
    };
    const std::vector<Case> cases{{path("store"), "store/new"},
                                  {"store", path("store/new")},
                                  {"store", "link/new"},
                                  {"link", path("store/new")},
                                  {path("link"), "store/journal/new"},
                                  {"store", "deep/new"},
                                  {"store", "none/../link/new"}};
    for (const auto& each : cases) {
        SCOPED_TRACE(each.store + " to " + each.target);
        EXPECT_EQ(repaired(each.store, each.target), ErrorCode::invalid_argument);
        EXPECT_EQ(exported(each.store, each.target), ErrorCode::invalid_argument);
    }
    EXPECT_EQ(files_below("store"), before);
    EXPECT_EQ(exported("link", path("store/instances")), done) << "its place for views";
    EXPECT_EQ(repaired("store", "fresh"), done);
    std::filesystem::current_path(here);
}

} // namespace
} // namespace durable::fs
